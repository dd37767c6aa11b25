import ImgClient
package import ImgSettings
import ImgSystem

/// `imgctl start`: starts the coordinator with the settings of the command line.
package struct StartCommand: Command {
  /// Whether the command becomes the coordinator instead of leaving it in the background.
  package let isInForeground: Bool

  private static let foreground = OptionDescription(
    "--foreground", help: "Run here until stopped, as a service manager wants it.")

  package static let description = CommandDescription(
    name: "imgctl start", summary: "start the coordinator; other commands do so themselves",
    options: [foreground] + Setting.options,
    notes: [Setting.note],
    examples: [
      .init(
        "imgctl start --workers 4 --allow-network 10.0.0.0/8",
        "Four workers that may also fetch from the network 10.")
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isInForeground = arguments.contains(Self.foreground)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    if let remark = context.settings.remark { context.note("imgctl: \(remark)\n") }
    if isInForeground {
      try ThisProcess.replace(
        with: context.coordinatorExecutable, arguments: context.settings.arguments)
    }
    let (client, wasStarted) = try context.startCoordinator()
    let process = "process \(client.coordinatorProcessID)"
    guard wasStarted else {
      context.note(
        "a coordinator runs already (\(process)) and keeps its settings;"
          + " to change them: imgctl stop, then imgctl start\n")
      return .success
    }
    let log = "its log is \(context.settings.logPath)"
    switch try WorkerStart.outcome(client: client) {
    case .ready: context.note("started a coordinator (\(process)); \(log)\n")
    case .starting:
      context.note(
        "started a coordinator (\(process)), whose workers are still starting: imgctl status shows "
          + "when they are ready; \(log)\n")
    case .failed(let reason):
      // It would only try in vain for a while, and leave by itself.
      try? client.stop()
      throw ClientError.notStarted(reason: "no worker can be started: \(reason); \(log)")
    }
    return .success
  }
}
