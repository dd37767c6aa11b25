import ImgClient
import ImgModel
package import ImgSettings

/// `imgctl start`: starts the coordinator with the settings of the command line.
package struct StartCommand: Command {
  /// Whether the command becomes the coordinator, instead of starting one in the background.
  package let isInForeground: Bool
  package let isJSON: Bool
  /// Which settings are given, see
  /// ``Setting/differences(between:givenBy:environment:and:coreCount:)``.
  private let arguments: ArgumentReader

  private static let foreground = OptionDescription(
    "--foreground", help: "Run in this process until stopped, as service managers need.")

  package static let starter = Settings.Starter.person

  package static let description = CommandDescription(
    name: "imgctl start", summary: "start the coordinator with these settings",
    options: [foreground, .json] + Setting.options,
    notes: [
      Setting.note,
      "A coordinator that runs already keeps its settings. If they differ from the given ones, the "
        + "command lists the differences and ends with exit code 2.",
      "Other commands start a coordinator when none answers; that one ends when it is idle.",
    ],
    examples: [
      .init(
        "imgctl start --workers 4 --allow-network 10.0.0.0/8",
        "Four workers, which may also fetch from this network.")
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isInForeground = arguments.contains(Self.foreground)
    isJSON = arguments.contains(.json)
    self.arguments = arguments
    guard !(isInForeground && isJSON) else {
      throw UsageError("--foreground and --json: a coordinator in the foreground prints its log")
    }
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    if let remark = context.settings.remark { context.note("imgctl: \(remark)\n") }
    if isInForeground {
      try context.becomeCoordinator()
    }
    let (client, wasStarted) = try context.startCoordinator()
    let isReady = try hasReadyWorker(client, wasStarted: wasStarted, in: context)
    let differences =
      wasStarted ? [] : try context.differences(givenBy: arguments, from: client.status())
    let report = StartReport(
      processID: client.coordinatorProcessID, wasStarted: wasStarted, isReady: isReady,
      logPath: context.settings.logPath, differences: differences)
    if isJSON {
      try context.output.write(json: report)
    } else if let error = report.error {
      context.report(error: error)
    } else {
      context.note(report.text + "\n")
    }
    return differences.isEmpty ? .success : .wrongUse
  }

  /// - Throws: ``ClientError/notStarted(reason:)`` where no worker can be started.
  private func hasReadyWorker(
    _ client: Client, wasStarted: Bool, in context: CommandContext
  ) throws -> Bool {
    switch try WorkerStart.outcome(client: client) {
    case .ready: return true
    case .starting: return false
    case .failed(let reason):
      // It would only retry for a while and then exit by itself.
      if wasStarted { try? client.stop() }
      throw ClientError.notStarted(
        reason: "no worker can be started: \(reason); its log is \(context.settings.logPath)")
    }
  }
}
