import ImgClient
package import ImgSettings

/// `imgctl stop`: makes the coordinator leave.
package struct StopCommand: Command {
  package static let description = CommandDescription(
    name: "imgctl stop", summary: "finish what runs and stop the coordinator",
    options: OptionDescription.places,
    notes: [
      "A coordinator that does not answer at the socket, such as one whose socket was removed, is "
        + "found by its lock on the data directory and ended by SIGTERM."
    ],
    examples: [.init("imgctl stop", "What waits is taken up again at the next start.")])

  package init(_ arguments: ArgumentReader) throws(UsageError) {}

  package func run(in context: CommandContext) throws -> ExitCode {
    do {
      try context.runningCoordinator().stop()
    } catch ClientError.unreachable {
      context.note("no coordinator runs\n")
      return .success
    } catch let error as ClientError where error.meansNoListener {
      guard try stopOwner(in: context) else { throw error }
    }
    context.note(
      "the coordinator has finished what ran and left; queued URLs go on at the next start\n")
    return .success
  }

  /// - Returns: whether there was a process that owns the data directory.
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
  /// Whether no coordinator can be asked at the socket, and the data directory may still have one.
  fileprivate var meansNoListener: Bool {
    switch self {
    case .notListening, .untrusted: true
    default: false
    }
  }
}
