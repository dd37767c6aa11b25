import ImgModel
import ImgSettings
import ImgSystem

/// The places of a cluster, and the way to its coordinator.
struct ClusterPlaces: Sendable {
  private let settings: Settings
  private let executable: String
  /// What starts coordinators for this process; `nil` if it starts them itself.
  private let starter: CoordinatorStarter?
  private let lastCoordinator = LastCoordinator()

  private static let settings = [Setting.socket] + Setting.directories + [.autostart]

  /// - Throws: ``ImageError/Code/invalidRequest`` for settings in the environment that make no sense.
  init(_ configuration: ClusterConfiguration) throws(ImageError) {
    let environment = ThisProcess.environment
    let description = CommandDescription(
      name: "ImgClient", summary: "", options: Self.settings.map(\.option))
    var settings: Settings
    settings = try rethrowing(
      try Settings(
        ArgumentReader(Self.arguments(configuration), for: description), environment: environment,
        userID: ThisProcess.userID, startedBy: .command)
    ) { (error: UsageError) in ImageError(invalidRequest: "\(error)") }
    self.settings = settings.resolved(in: ThisProcess.currentDirectory ?? "/")
    executable =
      configuration.coordinatorExecutable
      ?? Self.coordinatorExecutable(path: environment["PATH"] ?? "")
    starter = nil
  }

  /// The places of a program that has its own settings, with a coordinator beside it.
  init(_ settings: Settings, starter: CoordinatorStarter? = nil) {
    self.settings = settings
    self.starter = starter
    executable = Self.coordinatorExecutable(path: "")
  }

  var storeDirectory: String { settings.storeDirectory }

  /// The memory budget as this process knows it.
  var memoryBudgetByteCount: Int { Int(settings.limits.memoryBudgetByteCount) }

  var store: LocalStore {
    LocalStore(
      directory: settings.storeDirectory, budgetByteCount: settings.limits.storeBudgetByteCount)
  }

  /// Makes the coordinator fetch pictures again that it remembers as missing, if one runs.
  ///
  /// - Parameter urls: in the spelling of ``ImageURL/text``.
  func forgetFailures(of urls: [String]) {
    do throws(ClientError) {
      let client = try Client(socketPath: settings.socketPath)
      try client.requireStore(in: settings.storeDirectory)
      try client.forgetFailures(of: urls)
    } catch {
      // One that does not answer remembers nothing, or forgets in ten minutes.
    }
  }

  /// Connects to the coordinator, and starts one if none answers and that is permitted.
  ///
  /// - Throws: ``ClientError/otherStore(socketPath:theirs:ours:)`` if another store's coordinator answers.
  func connect() throws(ClientError) -> Client {
    guard settings.startsCoordinator else { return try connectIfRunning() }
    if let starter { return try connect(startingBy: starter) }
    let replacement = try replacementSettings()
    let launcher = CoordinatorLauncher(
      executable: executable, arguments: replacement.arguments,
      environment: replacement.environment, socketPath: settings.socketPath,
      dataDirectory: settings.dataDirectory, logPath: settings.logPath)
    return try known(launcher.connect().client)
  }

  /// Connects to the coordinator, and starts none.
  func connectIfRunning() throws(ClientError) -> Client {
    try known(Client(socketPath: settings.socketPath))
  }

  private func connect(startingBy starter: CoordinatorStarter) throws(ClientError) -> Client {
    do throws(ClientError) {
      return try connectIfRunning()
    } catch .unreachable {
      if let reason = starter.start() { throw .notStarted(reason: reason) }
      return try connectIfRunning()
    }
  }

  /// What a coordinator is started with: the settings of the one that this process was connected to, if there
  /// was one, else those of this process. Its places are always those of this process.
  ///
  /// - Throws: ``ClientError/notStarted(reason:)`` if it had a proxy whose password is not known here. One
  ///   without the proxy would ask origins directly.
  private func replacementSettings() throws(ClientError) -> Settings {
    guard var last = lastCoordinator.settings else { return settings }
    guard let proxies = last.proxies.withCredentials(of: settings.proxies) else {
      throw .notStarted(
        reason:
          "the one before had a proxy with a password, which is not known here; start it with: "
          + "imgctl start --proxy URL")
    }
    last.proxies = proxies
    last.socketPath = settings.socketPath
    last.dataDirectory = settings.dataDirectory
    last.cacheDirectory = settings.cacheDirectory
    last.storeName = settings.storeName
    return last
  }

  /// A client of the own store, whose coordinator's settings are those of the one that replaces it.
  private func known(_ client: Client) throws(ClientError) -> Client {
    try client.requireStore(in: settings.storeDirectory)
    guard settings.startsCoordinator else { return client }
    if let starter { starter.remember(client) } else { lastCoordinator.remember(client) }
    return client
  }

  private static func arguments(_ configuration: ClusterConfiguration) -> [String] {
    let values = [
      ("--socket", configuration.socketPath), ("--data-dir", configuration.dataDirectory),
      ("--autostart", configuration.startsCoordinator.map { $0 ? "yes" : "no" }),
    ]
    return values.flatMap { name, value in value.map { ["\(name)=\($0)"] } ?? [] }
  }

  /// The program beside this one, else the first of that name in the directories of a `PATH`.
  private static func coordinatorExecutable(path: String) -> String {
    let name = "imgcoordinator"
    let beside = "\(ThisProcess.executableDirectory ?? ".")/\(name)"
    let others = path.split(separator: ":").map { "\($0)/\(name)" }
    return ([beside] + others).first(where: FileIO.isFile) ?? beside
  }
}

/// Where the cluster is, and whether it is started.
///
/// What is `nil` comes from the environment as for the command line: `IMGCTL_SOCKET`, `IMGCTL_DATA_DIR`,
/// `IMGCTL_AUTOSTART`, or the default places of the user. `IMGCTL_CACHE_DIR` and `IMGCTL_STORE_NAME` name another
/// place of the store.
public struct ClusterConfiguration: Hashable, Sendable {
  /// The path of the coordinator's socket.
  public var socketPath: String?
  /// The directory of the journal, and of the store unless the environment names another.
  public var dataDirectory: String?
  /// Whether a coordinator is started if none answers. It leaves after ten minutes without
  /// clients and jobs; a process that keeps images in memory is a client. The default is
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
