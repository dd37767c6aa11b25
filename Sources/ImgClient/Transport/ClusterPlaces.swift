import ImgModel
import ImgSettings
import ImgSystem

/// The places of a cluster, and the way to its coordinator.
struct ClusterPlaces: Sendable {
  private let settings: Settings
  /// The variables that the settings were read from, with the settings of the program in their place.
  private let environment: [String: String]
  private let program: CoordinatorProgram
  /// What permits a refused address to this program; `nil` if that is done as for commands.
  private let networkAdvice: String?
  /// What starts coordinators for this process; `nil` if it starts them itself.
  private let starter: CoordinatorStarter?
  private let lastCoordinator: LastCoordinator
  /// Whether the data directory was there at the start of this process.
  private let hadDirectory: Bool

  private static let settings = [Setting.socket] + Setting.directories + [.autostart]

  /// - Throws: ``ImageError/Code/invalidRequest`` for settings of the program or in the environment that make no
  ///   sense.
  init(_ configuration: ClusterConfiguration) throws(ImageError) {
    let description = CommandDescription(
      name: "ImgClient", summary: "", options: Self.settings.map(\.option))
    do throws(UsageError) {
      environment = try Self.environment(configuration)
      settings = try Settings(
        ArgumentReader(Self.arguments(configuration), for: description), environment: environment,
        userID: ThisProcess.userID, startedBy: .command
      ).resolved(in: ThisProcess.currentDirectory ?? "/")
    } catch {
      throw ImageError(invalidRequest: "\(error)")
    }
    lastCoordinator = LastCoordinator(settings.record)
    hadDirectory = settings.hasDataDirectory
    program =
      configuration.coordinatorExecutable.map { CoordinatorProgram(named: $0) }
      ?? CoordinatorProgram(searching: environment["PATH"] ?? "")
    networkAdvice = configuration.networkAdvice
    starter = nil
  }

  /// The places of a program that has its own settings, with a coordinator beside it.
  ///
  /// - Parameter settings: resolved.
  init(_ settings: Settings, starter: CoordinatorStarter? = nil) {
    self.settings = settings
    self.starter = starter
    environment = ThisProcess.environment
    lastCoordinator = LastCoordinator(settings.record)
    hadDirectory = settings.hasDataDirectory
    program = CoordinatorProgram(searching: nil)
    networkAdvice = nil
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
      let client = try Client(socketPath: settings.located.socketPath)
      try client.requireStore(in: settings.storeDirectory)
      try client.forgetFailures(of: urls)
    } catch {
      // One that does not answer remembers nothing, or forgets in ten minutes.
    }
  }

  /// An error of the cluster with the advice for this program. That of the cluster is for commands.
  func advised(_ error: ImageError) -> ImageError {
    guard let networkAdvice, error.code == .blockedAddress else { return error }
    return error.advising(networkAdvice)
  }

  /// Connects to the coordinator, and starts one if none answers and that is permitted.
  ///
  /// - Throws: ``ClientError/otherStore(socketPath:theirs:ours:)`` if another store's coordinator answers.
  func connect() throws(ClientError) -> Client {
    guard settings.located.startsCoordinator else { return try connectIfRunning() }
    if let starter { return try connect(startingBy: starter) }
    let launcher = CoordinatorLauncher(executable: program.path, places: settings) {
      () throws(ClientError) in
      try program.require()
      try settings.requireOriginal()
      try requireDirectory()
      return try replacementSettings()
    }
    return try known(launcher.connect().client)
  }

  /// Refuses a start where the data directory was moved away: one that is made in its place has neither the jobs
  /// nor the settings.
  private func requireDirectory() throws(ClientError) {
    guard hadDirectory || lastCoordinator.isKnown, !settings.hasDataDirectory else { return }
    throw .notStarted(
      reason:
        "the data directory \(settings.dataDirectory) is gone; if it was moved, start this program "
        + "again with the new place")
  }

  /// Connects to the coordinator, and starts none.
  func connectIfRunning() throws(ClientError) -> Client {
    try known(Client(socketPath: settings.located.socketPath))
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
  /// was one and the kept settings are as they were, else those of this process with what is kept. Its places
  /// are always those of this process.
  ///
  /// - Throws: ``ClientError/notStarted(reason:)`` if it had a proxy whose password is not known here. One
  ///   without the proxy would ask origins directly.
  private func replacementSettings() throws(ClientError) -> Settings {
    let kept: KeptSettings
    let own: Settings
    do throws(SettingsRecordError) {
      kept = try settings.record.kept()
      own = try settings.record.completed(settings, with: kept, environment: environment)
    } catch {
      throw .notStarted(reason: error.description)
    }
    guard var last = lastCoordinator.settings(ifStillKept: kept) else { return own }
    guard let proxies = last.proxies.withCredentials(of: own.proxies) else {
      throw .notStarted(
        reason:
          "the one before had a proxy with a password, which is not known here; start it with: "
          + "imgctl start --proxy URL")
    }
    last.proxies = proxies
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

  /// The variables of this process with the settings of the program in their place.
  private static func environment(
    _ configuration: ClusterConfiguration
  ) throws(UsageError) -> [String: String] {
    var environment = ThisProcess.environment
    for (name, text) in configuration.settings.sorted(by: { $0.key < $1.key }) {
      if let property = ClusterConfiguration.placeProperties[name] {
        throw UsageError("settings: \(name) is not among them; set \(property)")
      }
      let setting = try rethrowing(try Setting(key: name)) { (error: InvalidValue) in
        UsageError("settings", error)
      }
      try rethrowing(try setting.check(text)) { (error: UsageError) in
        UsageError("settings: \(error)")
      }
      environment[setting.environmentVariable] = text
    }
    return environment
  }

  private static func arguments(_ configuration: ClusterConfiguration) -> [String] {
    let values = [
      ("--socket", configuration.socketPath), ("--data-dir", configuration.dataDirectory),
      ("--autostart", configuration.startsCoordinator.map { $0 ? "yes" : "no" }),
    ]
    return values.flatMap { name, value in value.map { ["\(name)=\($0)"] } ?? [] }
  }
}

/// The program `imgcoordinator`.
struct CoordinatorProgram: Sendable {
  private static let name = "imgcoordinator"

  let path: String
  /// What is said if there is no such file.
  private let absence: String

  /// The one that a program names.
  init(named path: String) {
    self.path = path
    absence = "there is no file \(path), which coordinatorExecutable names"
  }

  /// The one beside this program, else the first of that name in the directories of a `PATH`.
  ///
  /// - Parameter searchPath: `nil` for a program that has its coordinator beside it.
  init(beside directory: String? = ThisProcess.executableDirectory, searching searchPath: String?) {
    let beside = "\(directory ?? ".")/\(Self.name)"
    let others = (searchPath ?? "").split(separator: ":").map { "\($0)/\(Self.name)" }
    path = ([beside] + others).first(where: FileIO.isFile) ?? beside
    let further =
      searchPath == nil
      ? "" : ", and none in PATH; put the programs of imgctl there, or set coordinatorExecutable"
    absence = "there is no \(Self.name) beside this program (\(beside))\(further)"
  }

  func require() throws(ClientError) {
    guard FileIO.isFile(path) else { throw .notStarted(reason: absence) }
  }
}

extension ClusterConfiguration {
  /// The settings of `imgctl start` that have properties of their own.
  fileprivate static let placeProperties = [
    Setting.socket.key: "socketPath", Setting.dataDirectory.key: "dataDirectory",
  ]

  /// The remedy for a refused address: a coordinator that permits it, in place of the one that runs.
  fileprivate var networkAdvice: String {
    let places = [("--socket", socketPath), ("--data-dir", dataDirectory)]
    let flags = places.compactMap { flag, place in place.map { " \(flag) \($0.shellWord)" } }
    return
      "to permit it: add it to allow-network in the settings of ClusterConfiguration, and end the coordinator "
      + "that runs: imgctl stop\(flags.joined())"
  }
}

/// Where the cluster is, and whether and how it is started.
///
/// What is `nil` comes from the environment as for the command line: `IMGCTL_SOCKET`, `IMGCTL_DATA_DIR`,
/// `IMGCTL_AUTOSTART`, or the default places of the user. `IMGCTL_CACHE_DIR` and `IMGCTL_STORE_NAME` name another
/// place of the store.
public struct ClusterConfiguration: Hashable, Sendable {
  /// The path of the coordinator's socket. By default, it follows from the data directory: the coordinator that
  /// owns that is found wherever it listens.
  public var socketPath: String?
  /// The directory of the journal, and of the store unless the environment names another.
  public var dataDirectory: String?
  /// Whether a coordinator is started if none answers. It leaves after ten minutes without
  /// clients and jobs; a process that keeps images in memory is a client. The default is
  /// `false` for a socket below `/run` that is not the user's, because a service manager starts those.
  public var startsCoordinator: Bool?
  /// The program `imgcoordinator`. By default it is beside this program, else in the directories of
  /// `PATH`. The programs `imgworker` and `imgdecoder` are beside it.
  public var coordinatorExecutable: String?
  /// The settings of a coordinator that this program starts, by the names of the flags of `imgctl start`, such as
  /// `["allow-network": "10.0.0.0/8,fd00::/8", "rate-per-host": "1/s"]`. Commas separate the values of a flag
  /// that can be repeated.
  ///
  /// They override the environment and what the last `imgctl start` was told, which count for all other
  /// settings. A coordinator that runs already keeps its settings, and nothing says so; `imgctl status --limits`
  /// shows them. Programs that share a coordinator should agree: the first that needs one starts it. These
  /// settings are not kept for others.
  ///
  /// A name or a value that is none is an error of the client's initialiser:
  /// ``ImageError/Code/invalidRequest``. The names have no dashes before them. A `store-budget` below 10M counts as
  /// 10M, with a line in the coordinator's log.
  public var settings: [String: String]

  /// The places of the user.
  public static let standard = ClusterConfiguration()

  /// Places and settings that differ from those of the user.
  public init(
    socketPath: String? = nil, dataDirectory: String? = nil, startsCoordinator: Bool? = nil,
    coordinatorExecutable: String? = nil, settings: [String: String] = [:]
  ) {
    self.socketPath = socketPath
    self.dataDirectory = dataDirectory
    self.startsCoordinator = startsCoordinator
    self.coordinatorExecutable = coordinatorExecutable
    self.settings = settings
  }
}
