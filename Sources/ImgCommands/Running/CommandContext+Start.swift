package import ImgClient
import ImgModel
import ImgSettings
import ImgSystem

/// Starts of a coordinator.
extension CommandContext {
  /// The coordinator's program, in the directory of this one.
  package var coordinatorExecutable: String {
    "\(ThisProcess.executableDirectory ?? ".")/imgcoordinator"
  }

  /// Starts a coordinator with these settings if none answers.
  package func startCoordinator() throws(ClientError)
    -> sending (
      client: Client, wasStarted: Bool
    )
  {
    try CoordinatorLauncher(
      executable: coordinatorExecutable, arguments: settings.arguments,
      environment: settings.environment, socketPath: settings.socketPath,
      dataDirectory: settings.dataDirectory, logPath: settings.logPath
    ).connect()
  }

  /// Replaces this process by a coordinator with these settings.
  func becomeCoordinator() throws(SystemError) -> Never {
    for (name, value) in settings.environment { ThisProcess.setVariable(name, to: value) }
    try ThisProcess.replace(with: coordinatorExecutable, arguments: settings.arguments)
  }

  /// Replaces this process by a gateway.
  func becomeGateway(_ arguments: [String]) throws(SystemError) -> Never {
    try ThisProcess.replace(
      with: "\(ThisProcess.executableDirectory ?? ".")/imggateway", arguments: arguments)
  }

  /// The given settings that a running coordinator does not have.
  func differences(
    givenBy arguments: ArgumentReader, from cluster: ClusterStatus
  ) throws -> [Setting.Difference] {
    Setting.differences(
      between: settings, givenBy: arguments, environment: ThisProcess.environment,
      and: try Settings(runningAs: cluster), coreCount: ThisProcess.coreCount)
  }
}
