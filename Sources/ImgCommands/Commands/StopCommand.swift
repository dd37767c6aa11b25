import ImgClient
import ImgModel
package import ImgSettings

/// `imgctl stop`: ends the coordinator.
package struct StopCommand: Command {
  package let isJSON: Bool

  package static let description = CommandDescription(
    name: "imgctl stop", summary: "finish running work and stop the coordinator",
    options: [.json] + OptionDescription.places,
    notes: [
      "If the coordinator does not answer, for example because its socket was removed, the command "
        + "finds it by its lock on the data directory and sends SIGTERM."
    ],
    examples: [.init("imgctl stop", "Waiting URLs continue at the next start.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    isJSON = arguments.contains(.json)
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    let (wasRunning, isOfTheseSettings) = try stop(in: context)
    let waitingCount = isOfTheseSettings ? waitingCount(in: context) : nil
    if isJSON {
      try context.output.write(json: Report(wasRunning: wasRunning, waitingCount: waitingCount))
    } else if wasRunning {
      context.note("the coordinator has stopped")
      if let count = waitingCount, count > 0 {
        let verb = count == 1 ? "waits" : "wait"
        context.note("; \(HumanText.count(count, of: "URL")) \(verb) for the next start")
      }
      context.note("\n")
    } else {
      context.note("no coordinator runs\n")
    }
    return .success
  }

  /// - Returns: whether a coordinator ran, and whether its jobs are in the journal of these
  ///   settings.
  private func stop(in context: CommandContext) throws -> (Bool, isOfTheseSettings: Bool) {
    do {
      let client = try context.runningCoordinator()
      let dataDirectory = try client.status().dataDirectory
      try client.stop()
      return (true, dataDirectory == context.settings.dataDirectory)
    } catch ClientError.unreachable {
      return (false, false)
    } catch let error as ClientError where error.meansNoListener {
      guard try stopOwner(in: context) else { throw error }
      return (true, true)
    }
  }

  /// The URLs in the journal that continue at the next start; `nil` if this user cannot read the
  /// journal.
  private func waitingCount(in context: CommandContext) -> Int? {
    var count = 0
    do {
      try context.journalJobs().forEachJob { count += $0.state == .paused ? 0 : $0.queued }
    } catch {
      return nil
    }
    return count
  }

  private struct Report: Encodable {
    let wasRunning: Bool
    let waitingCount: Int?

    private enum CodingKeys: String, CodingKey {
      case wasRunning = "stopped"
      case waitingCount = "queued"
    }
  }

  /// - Returns: whether a process owned the data directory.
  private func stopOwner(in context: CommandContext) throws -> Bool {
    guard let owner = try context.coordinatorProcess() else {
      return false
    }
    context.note(
      "no coordinator answers at \(context.settings.socketPath); stopping process "
        + "\(owner.processID), which owns \(context.settings.dataDirectory)\n")
    try owner.stop()
    return true
  }
}

extension ClientError {
  /// Whether the socket reaches no coordinator although one may own the data directory.
  fileprivate var meansNoListener: Bool {
    switch self {
    case .notListening, .untrusted: true
    default: false
    }
  }
}
