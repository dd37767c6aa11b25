package import ImgModel

/// The settings of a coordinator. A value of this type is complete and in range.
///
/// Each setting comes from its flag, else from its environment variable, else from what is kept with the
/// journal (see ``adding(_:environment:)``), else from its default. An empty variable counts as not set.
package struct Settings: Hashable, Sendable {
  /// Where the value of a setting comes from.
  package enum Source: Hashable, Sendable {
    case flag
    case variable
    /// What `imgctl start` or `imgctl config` was told before.
    case kept
  }

  /// What starts the coordinator.
  package enum Starter: Sendable {
    /// A user or a service manager: the coordinator runs until it is stopped.
    case person
    /// A command that found none running: the coordinator ends when it is idle.
    case command
  }

  package var limits = Limits()
  /// The path of the coordinator's socket, at most ``maximumSocketPathByteCount`` bytes.
  package var socketPath: String
  /// The directory of the journal, the lock and the log: what nothing can make again.
  package var dataDirectory: String
  /// The directory of the store, which may be emptied at any time. It is the data directory if `--data-dir`
  /// alone is given.
  package var cacheDirectory: String
  /// The name of the store in its directory.
  package var storeName = Self.defaultStoreName
  /// The networks from which workers may fetch although their addresses are not public.
  package var allowedNetworks: [NetworkRange] = []
  /// The directories below which lists may name files.
  package var allowedDirectories: [String] = []
  /// A PEM file with the certificates of the trusted authorities; `nil` for those of the system.
  package var authorityFile: String?
  /// What `--proxy` says; `nil` if the environment decides.
  package var proxyChoice: ProxyChoice?
  /// The proxies through which workers fetch, by ``proxyChoice`` or the environment.
  package var proxies = ProxySettings.none
  /// Why the proxies of the environment cannot be used.
  private var proxyError: UsageError?
  /// Tells the credentials of a running coordinator's proxies from others, see ``ProxySettings/credentialsCheck``.
  private var reportedCredentialsCheck: Int?
  /// Whether decoders must be sandboxed completely to decode.
  package var requiresSandbox = false
  /// The coordinator ends after this time without clients and jobs; `nil` for never.
  package var idleExit: Duration?
  /// Whether a command starts a coordinator if none answers; `nil` if the path of the socket
  /// decides, see ``startsCoordinator``. The coordinator itself does not get this setting.
  package var autostart: Bool?
  /// The worker program; `nil` for the one in the coordinator's directory.
  package var workerExecutable: String?
  /// Whether the coordinator sets the store budget at its start, see ``storeBudgetDivisor``.
  package var isStoreBudgetAutomatic = false
  /// Where each setting comes from, by its flag; a setting that has its default is not there.
  package internal(set) var sources: [String: Source] = [:]
  /// The limits that were below their minimum and raised, by their flags.
  private var raisedLimits: [String: RaisedLimit] = [:]

  /// The minimum store budget. A smaller one is raised to it.
  package static let minimumStoreBudgetByteCount: Int64 = 10 << 20
  private static let storeBudgetRange = minimumStoreBudgetByteCount...maximumStoreBudgetByteCount
  static let maximumStoreBudgetByteCount: Int64 = 16 << 40

  /// The share of its disk that an automatic budget gives the store: of what is free, or in the store
  /// already.
  package static let storeBudgetDivisor: Int64 = 4

  /// The range of durations, here and in requests.
  package static let durationRange = RequestOptions.expiryRange

  /// The idle time after which a coordinator that a command started ends.
  package static let commandIdleExit = Duration.seconds(600)

  package static let defaultStoreName = "thumbnails"

  /// The size of `sun_path` without its terminating zero (unix(7)).
  package static let maximumSocketPathByteCount = 107

  /// The defaults with given paths.
  ///
  /// - Parameter cacheDirectory: `nil` for the data directory.
  package init(socketPath: String, dataDirectory: String, cacheDirectory: String? = nil) {
    self.socketPath = socketPath
    self.dataDirectory = dataDirectory
    self.cacheDirectory = cacheDirectory ?? dataDirectory
  }

  /// The settings of the arguments and the environment.
  ///
  /// - Parameter arguments: read with a description that lists ``Setting/options`` or some of them.
  /// - Throws: ``UsageError`` that names the flag or variable at fault.
  package init(
    _ arguments: ArgumentReader, environment: [String: String], userID: UInt32,
    startedBy starter: Starter
  ) throws(UsageError) {
    self = Self.atDefaultPlaces(environment: environment, userID: userID)
    if starter == .command { idleExit = Self.commandIdleExit }
    let settings = Setting.all + (starter == .command ? [.autostart] : [])
    for setting in settings {
      try setting.read(from: arguments, environment: environment, into: &self)
    }
    do throws(UsageError) {
      proxies = try ProxySettings(proxyChoice, environment: environment)
    } catch {
      // What is kept may say that the variables do not count.
      proxyError = error
    }
    for (directory, flag) in [(dataDirectory, "--data-dir"), (cacheDirectory, "--cache-dir")]
    where directory.isEmpty {
      throw UsageError("\(flag): no default directory, because HOME is not set; give a directory")
    }
    raiseLimits()
  }

  /// Sets an automatic store budget.
  ///
  /// - Parameter byteCount: what is free on its disk, or in the store already.
  package mutating func setStoreBudget(ofAvailable byteCount: Int64) {
    guard isStoreBudgetAutomatic else { return }
    limits.storeBudgetByteCount = max(
      byteCount / Self.storeBudgetDivisor, Self.minimumStoreBudgetByteCount)
    isStoreBudgetAutomatic = false
  }

  /// Raises limits that are below their minimum: without transfers, nothing would be fetched.
  mutating func raiseLimits() {
    let memory = LimitChange.memoryBudgetRange
    raise(\.transfers, of: .transfers, into: LimitChange.transferRange, .count)
    raise(\.transfersPerHost, of: .transfersPerHost, into: LimitChange.transferRange, .count)
    raise(\.memoryBudgetByteCount, of: .memoryBudget, into: memory, .size)
    raise(\.storeBudgetByteCount, of: .storeBudget, into: Self.storeBudgetRange, .size)
  }

  private mutating func raise<Value: BinaryInteger>(
    _ limit: WritableKeyPath<Limits, Value>, of setting: Setting, into range: ClosedRange<Value>,
    _ scale: UnitScale
  ) {
    guard limits[keyPath: limit] < range.lowerBound else { return }
    let asked = setting.texts(in: self).joined()
    limits[keyPath: limit] = range.lowerBound
    raisedLimits[setting.option.flag] = RaisedLimit(
      asked: asked, minimum: scale.text(Int64(range.lowerBound)))
  }

  /// - Throws: ``UsageError`` if the environment names proxies that cannot be used.
  func requireProxies() throws(UsageError) {
    if let proxyError { throw proxyError }
  }

  /// See ``ProxySettings/credentialsCheck``.
  var credentialsCheck: Int? { reportedCredentialsCheck ?? proxies.credentialsCheck }

  /// Notes about settings that differ from the requested ones.
  package var remarks: [String] {
    raisedLimits.sorted { $0.key < $1.key }.map { flag, limit in
      "\(flag) is \(limit.minimum), the minimum, instead of \(limit.asked)"
    }
  }

  /// The flags of these settings, independent of the starter. With the variables of ``environment`` they
  /// are independent of the environment, too.
  package var arguments: [String] {
    Setting.all.flatMap { $0.arguments(for: self) }
  }

  /// The variables of a coordinator: those of the settings that have no place among ``arguments``, which every
  /// user can see. The others are empty, so that they count as not set.
  package var environment: [String: String] {
    let variables = Setting.all.map { ($0.environmentVariable, "") }
    return proxies.environment.merging(variables) { own, _ in own }
  }
}

/// A limit that was asked for below its minimum.
private struct RaisedLimit: Hashable, Sendable {
  let asked: String
  let minimum: String
}

/// The paths in the data directory and the cache directory.
extension Settings {
  /// The directory in which the store lies, with what replaces it. Of the two directories, workers reach
  /// this alone.
  package var storePlace: String { "\(cacheDirectory)/store" }
  /// The shared store of thumbnails.
  package var storeDirectory: String { "\(storePlace)/\(storeName)" }
  /// The coordinator's journal of jobs.
  package var journalDirectory: String { "\(dataDirectory)/journal" }
  /// The file that the coordinator of this data directory locks, see `FileLock`. It locks that of the cache
  /// directory as well, so that no two coordinators have one store.
  package var lockPath: String { Self.lockPath(in: dataDirectory) }
  /// The log of a coordinator in the background.
  package var logPath: String { "\(dataDirectory)/coordinator.log" }

  /// The lock file of any data directory.
  package static func lockPath(in dataDirectory: String) -> String {
    "\(dataDirectory)/coordinator.lock"
  }

  /// Whether a command starts a coordinator if none answers. It does not if the socket is that of a
  /// service, which its manager starts.
  package var startsCoordinator: Bool { autostart ?? !isOfService }

  /// Whether the socket is that of a service: /run is for services, except /run/user (file-hierarchy(7)).
  package var isOfService: Bool {
    guard autostart != true else { return false }
    let isBelowRun = ["/run/", "/var/run/"].contains(where: socketPath.hasPrefix)
    let isUsers = ["/run/user/", "/var/run/user/"].contains(where: socketPath.hasPrefix)
    return isBelowRun && !isUsers
  }

  /// The defaults of this user. Directories are empty if the environment has no home directory.
  package static func atDefaultPlaces(environment: [String: String], userID: UInt32) -> Settings {
    let places = DefaultPlaces(environment: environment, userID: userID)
    return Settings(
      socketPath: places.socketPath, dataDirectory: places.dataDirectory ?? "",
      cacheDirectory: places.cacheDirectory ?? "")
  }

  /// Where `--data-dir` alone puts everything.
  var commonDirectory: String {
    get { dataDirectory }
    set {
      dataDirectory = newValue
      cacheDirectory = newValue
    }
  }

  /// The home directory of the environment; `nil` if it has none.
  package static func homeDirectory(in environment: [String: String]) -> String? {
    DefaultPlaces.absolutePath(environment["HOME"])
  }

  /// The directory for sockets of the user's login; `nil` if the environment has none.
  package static func runtimeDirectory(in environment: [String: String]) -> String? {
    DefaultPlaces.absolutePath(environment["XDG_RUNTIME_DIR"])
  }

  /// The same settings with absolute paths.
  ///
  /// - Parameter directory: the working directory for relative paths.
  package func resolved(in directory: String) -> Settings {
    func absolute(_ path: String) -> String {
      var path = path.hasPrefix("/") ? path : "\(directory)/\(path)"
      // A client compares its directory with its coordinator's, so each needs one spelling.
      while path.count > 1, path.hasSuffix("/") { path.removeLast() }
      return path
    }
    var resolved = self
    resolved.socketPath = absolute(socketPath)
    resolved.dataDirectory = absolute(dataDirectory)
    resolved.cacheDirectory = absolute(cacheDirectory)
    resolved.workerExecutable = workerExecutable.map(absolute)
    resolved.allowedDirectories = allowedDirectories.map(absolute)
    resolved.authorityFile = authorityFile.map(absolute)
    if let path = resolved.impliedSocketPath { resolved.socketPath = path }
    return resolved
  }

  /// The socket of a data directory that is named, so that this alone selects a coordinator; `nil` if a socket
  /// is named, too, or no data directory.
  ///
  /// It is in the directory. If that path is too long for a socket, it is in the default directory of sockets,
  /// and its name is derived from the path.
  private var impliedSocketPath: String? {
    guard !isNamed(.socket), isNamed(.dataDirectory) else { return nil }
    let path = "\(dataDirectory)/\(DefaultPlaces.socketName)"
    guard path.utf8.count > Self.maximumSocketPathByteCount else { return path }
    let directory = socketPath.lastIndex(of: "/").map { socketPath[..<$0] } ?? ""
    return "\(directory)/\(PathHash.text(of: dataDirectory)).sock"
  }

  /// Whether a flag or a variable names a place.
  package func isNamed(_ place: Setting) -> Bool { sources[place.option.flag] != nil }
}

/// A short name for a path: FNV-1a of its bytes.
private enum PathHash {
  static func text(of path: String) -> String {
    let hash = path.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
      ($0 ^ UInt64($1)) &* 0x100_0000_01b3
    }
    return String(hash, radix: 36)
  }
}

/// The settings that a running coordinator reports.
extension Settings {
  /// The settings that a coordinator reports beside its limits and paths.
  ///
  /// - Parameter workerExecutable: the worker program that it runs.
  package func reported(workerExecutable: String) -> CoordinatorSettings {
    CoordinatorSettings(
      workerExecutable: workerExecutable, idleExit: idleExit,
      allowedNetworks: allowedNetworks.map(\.text), allowedDirectories: allowedDirectories,
      authorityFile: authorityFile, proxies: proxies, requiresSandbox: requiresSandbox)
  }

  /// The settings of the coordinator that reported `cluster`.
  ///
  /// - Throws: for values that no coordinator of this release reports.
  package init(runningAs cluster: ClusterStatus) throws(InvalidValue) {
    self.init(
      socketPath: cluster.socketPath, dataDirectory: cluster.dataDirectory,
      cacheDirectory: cluster.cacheDirectory)
    storeName = cluster.storeName
    limits = cluster.limits
    workerExecutable = cluster.settings.workerExecutable
    idleExit = cluster.settings.idleExit
    for text in cluster.settings.allowedNetworks {
      allowedNetworks.append(try NetworkRange(parsing: text))
    }
    allowedDirectories = cluster.settings.allowedDirectories
    authorityFile = cluster.settings.authorityFile
    proxies = cluster.settings.proxies
    reportedCredentialsCheck = cluster.settings.credentialsCheck
    requiresSandbox = cluster.settings.requiresSandbox
  }
}

extension Setting {
  /// A requested setting that differs from a running coordinator's.
  package struct Difference: Hashable, Sendable {
    package let name: String
    package let flag: String
    package let asked: String
    package let running: String
    /// Whether `imgctl limits` can change it, see ``LimitChange``.
    package let isChangeable: Bool
  }

  /// The differences between requested and running settings. The order of repeated values does not matter.
  ///
  /// - Parameters:
  ///   - asked: the settings of the arguments and the environment, resolved.
  ///   - isIncluded: the settings to compare; by default, those that a flag or a variable gives.
  ///   - coreCount: the number of workers that `auto` means. Which store budget it meant at the start is not
  ///     known, so every one counts as the same.
  package static func differences(
    between asked: Settings, and running: Settings, coreCount: Int,
    of isIncluded: ((Setting) -> Bool)? = nil
  ) -> [Difference] {
    let isIncluded = isIncluded ?? asked.isGiven
    var asked = asked
    if asked.limits.workers == 0 { asked.limits.workers = coreCount }
    if asked.isStoreBudgetAutomatic {
      asked.isStoreBudgetAutomatic = false
      asked.limits.storeBudgetByteCount = running.limits.storeBudgetByteCount
    }
    return all.filter(isIncluded).compactMap {
      let texts = [asked, running].map($0.texts).map { $0.isEmpty ? ["none"] : $0 }
      let hasOtherPassword =
        $0.option.flag == proxy.option.flag && asked.credentialsCheck != running.credentialsCheck
      guard Set(texts[0]) != Set(texts[1]) || hasOtherPassword else { return nil }
      var shown = texts.map { $0.joined(separator: ", ") }
      if shown[0] == shown[1] { shown[0] += " with another password" }
      return Difference(
        name: $0.name, flag: $0.option.flag, asked: shown[0], running: shown[1],
        isChangeable: $0.isChangeable)
    }
  }

  /// One line of the table that `imgctl status --limits` prints.
  package struct Row: Hashable, Sendable {
    package let name: String
    package let flag: String
    /// `-` if nothing is set and the default applies.
    package let value: String
    package let defaultText: String
  }

  /// The settings of a coordinator with the defaults: limits first.
  package static func rows(of settings: Settings) -> [Row] {
    (all.filter(\.isLimit) + all.filter { !$0.isLimit }).map { setting in
      let texts = setting.texts(in: settings)
      return Row(
        name: setting.name, flag: setting.option.flag,
        value: texts.isEmpty ? "-" : texts.joined(separator: ", "),
        defaultText: setting.defaultText)
    }
  }
}

/// The default paths of the socket, the data and the store.
///
/// Relative paths in XDG variables are ignored, as the XDG Base Directory Specification requires.
struct DefaultPlaces {
  static let socketName = "control.sock"

  let socketPath: String
  /// `nil` if the environment has no home directory.
  let dataDirectory: String?
  /// The same.
  let cacheDirectory: String?

  init(environment: [String: String], userID: UInt32) {
    func absolutePath(_ variable: String) -> String? { Self.absolutePath(environment[variable]) }
    let runtimeDirectory =
      Settings.runtimeDirectory(in: environment).map { "\($0)/imgctl" } ?? "/tmp/imgctl-\(userID)"
    socketPath = "\(runtimeDirectory)/\(Self.socketName)"
    func directory(in variable: String, else path: String) -> String? {
      let parent = absolutePath(variable) ?? absolutePath("HOME").map { "\($0)/\(path)" }
      return parent.map { "\($0)/imgctl" }
    }
    dataDirectory = directory(in: "XDG_STATE_HOME", else: ".local/state")
    cacheDirectory = directory(in: "XDG_CACHE_HOME", else: ".cache")
  }

  static func absolutePath(_ path: String?) -> String? {
    path.flatMap { $0.hasPrefix("/") ? $0 : nil }
  }
}

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
    let settings = try Settings(
      reader, environment: environment, userID: userID, startedBy: .person)
    try settings.requireProxies()
    self = .run(settings)
  }
}

/// A parsed command line of `imggateway`.
package enum GatewayInvocation: Sendable {
  /// Print this text.
  case print(String)
  /// The second value says where the cluster is.
  case run(GatewaySettings, Settings)

  package static let json = OptionDescription(
    "--json", help: "Print the address as JSON when requests are answered.")

  package static let description = CommandDescription(
    name: "imggateway",
    summary: "serve thumbnails over HTTP",
    options: GatewayOptions.all + GatewayOptions.places + [json, .version],
    notes: [
      Setting.note,
      "Starts a coordinator if none answers. TLS and HTTP/2 are for a reverse proxy in front. What it keeps in "
        + "memory is a share of the coordinator's --memory-budget.",
    ],
    examples: [
      .init("imggateway", "Serves the gallery and pictures at http://127.0.0.1:8080/."),
      .init(
        "imggateway --listen 0.0.0.0:8080 --key-file /etc/imgctl/keys",
        "Serves signed requests of other machines."),
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
      try GatewaySettings(reader, environment: environment),
      try Settings(reader, environment: environment, userID: userID, startedBy: .command))
  }
}
