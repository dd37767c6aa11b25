import ImgSettings
import ImgSystem

/// Handles a command that crashes while it reads a damaged store.
enum StoreCrash {
  /// Set in the environment of a command that was restarted after such a crash.
  private static let variable = "IMGCTL_STORE_CRASHED"

  /// Whether the command has crashed in the store before. A `get` then leaves the store to the
  /// coordinator, whose workers recreate it, and a `reset` does not open it.
  static var hasHappened: Bool { ThisProcess.environment[variable] != nil }

  /// - Parameters:
  ///   - arguments: the program's arguments, without its name.
  ///   - environment: the program's environment at its start.
  static func prepare(
    for handling: StoreCrashHandling, _ arguments: [String], environment: [String: String],
    settings: Settings, isJSON: Bool
  ) {
    switch handling {
    case .restart where !hasHappened:
      let changed = environment.merging([variable: "1"]) { $1 }
      CrashRegion.restart(arguments: arguments, environment: changed)
    case .restart, .report:
      prepare(
        "store_damaged",
        "the store in \(settings.storeDirectory) is damaged; imgctl cache reset removes it, and "
          + "requests make its thumbnails again", isJSON: isJSON)
    }
  }

  /// ``prepare(for:_:environment:settings:isJSON:)`` before the command reads the journal.
  static func prepareForJournal(settings: Settings, isJSON: Bool) {
    prepare(
      "journal_damaged",
      "the journal in \(settings.journalDirectory) is damaged; imgctl recover "
        + "\(settings.journalDirectory) DIR extracts the intact jobs", isJSON: isJSON)
  }

  private static func prepare(_ code: String, _ sentence: String, isJSON: Bool) {
    let report = ErrorReport(.wrongUse, code: code, "imgctl: \(sentence)")
    CrashRegion.report(report.line(isJSON: isJSON), exitStatus: report.exitCode.rawValue)
  }
}
