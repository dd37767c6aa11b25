/// Where the cluster is, and whether it is started.
///
/// What is `nil` comes from the environment as for the command line: `IMGCTL_SOCKET`, `IMGCTL_DATA_DIR`,
/// `IMGCTL_AUTOSTART`, or the default places of the user.
public struct ClusterConfiguration: Hashable, Sendable {
  /// The path of the coordinator's socket.
  public var socketPath: String?
  /// The directory of the store and the journal.
  public var dataDirectory: String?
  /// Whether a coordinator is started if none answers. It leaves after ten idle minutes. The default is
  /// `false` for a socket below `/run` that is not the user's, because a service manager starts those.
  public var startsCoordinator: Bool?
  /// The program `imgcoordinator`. By default it is beside this program, else in the directories of
  /// `PATH`.
  public var coordinatorExecutable: String?

  /// The places of the user.
  public static let standard = ClusterConfiguration()

  /// Places that differ from those of the user.
  public init(
    socketPath: String? = nil, dataDirectory: String? = nil, startsCoordinator: Bool? = nil,
    coordinatorExecutable: String? = nil
  ) {
    self.socketPath = socketPath
    self.dataDirectory = dataDirectory
    self.startsCoordinator = startsCoordinator
    self.coordinatorExecutable = coordinatorExecutable
  }
}
