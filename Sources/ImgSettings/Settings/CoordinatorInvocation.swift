import ImgModel

/// A parsed command line of `imgcoordinator`.
package enum CoordinatorInvocation: Hashable, Sendable {
  /// Print this text.
  case print(String)
  case run(Settings)

  package static let description = CommandDescription(
    name: "imgcoordinator",
    summary: "run the coordinator in the foreground",
    options: Setting.options + [.version],
    notes: [Setting.note],
    examples: [
      .init(
        "imgcoordinator --workers 4 --transfers 32",
        "Runs on the default socket until SIGTERM or imgctl stop.")
    ])

  /// - Parameter arguments: without the program's name.
  package init(
    arguments: [String], environment: [String: String], userID: UInt32
  ) throws(UsageError) {
    let reader = try ArgumentReader(arguments, for: Self.description)
    if let text = reader.printedText {
      self = .print(text)
      return
    }
    self = .run(
      try Settings(reader, environment: environment, userID: userID, startedBy: .person))
  }
}
