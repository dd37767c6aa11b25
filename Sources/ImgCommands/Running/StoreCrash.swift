import ImgSettings
import ImgSystem

/// What a command does whose reading of a damaged store would end it by a signal.
enum StoreCrash {
  /// Set in the environment of a command that has been restarted for this reason.
  private static let variable = "IMGCTL_STORE_CRASHED"

  /// Whether this process has crashed in the store before. Then a get leaves the store to the
  /// coordinator, whose workers have it recreated, and a reset does not open it.
  static var hasHappened: Bool { ThisProcess.environment[variable] != nil }

  /// - Parameters:
  ///   - arguments: of this program, without its name.
  ///   - environment: that this program was started with.
  static func prepare(
    for command: any Command, _ arguments: [String], environment: [String: String],
    settings: Settings, isJSON: Bool
  ) {
    if command is GetCommand || command is CacheResetCommand, !hasHappened {
      let changed = environment.merging([variable: "1"]) { $1 }
      CrashRegion.restart(arguments: arguments, environment: changed)
    } else {
      prepare(
        "store_damaged",
        "the store in \(settings.storeDirectory) is damaged; imgctl cache reset removes it, its "
          + "thumbnails are made again", isJSON: isJSON)
    }
  }

  /// The same of a command that goes on to read the journal.
  static func prepareForJournal(settings: Settings, isJSON: Bool) {
    prepare(
      "journal_damaged",
      "the journal in \(settings.journalDirectory) is damaged; imgctl recover "
        + "\(settings.journalDirectory) DIR extracts the jobs that are intact", isJSON: isJSON)
  }

  private static func prepare(_ code: String, _ sentence: String, isJSON: Bool) {
    let report = ErrorReport(.wrongUse, code: code, "imgctl: \(sentence)")
    CrashRegion.report(report.line(isJSON: isJSON), exitStatus: report.exitCode.rawValue)
  }
}
