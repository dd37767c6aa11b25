package import ImgModel

/// The settings of a coordinator. A value of this type is complete and in range.
///
/// Each setting comes from its flag, else from its environment variable, else from its default. An
/// empty variable counts as not set.
package struct Settings: Hashable, Sendable {
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
  /// The directory of the journal and the store.
  package var dataDirectory: String
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
  /// The requested store budget, if it was below the minimum and raised; else `nil`.
  package private(set) var refusedStoreBudgetByteCount: Int64?

  /// The minimum store budget. A smaller one is raised to it.
  package static let minimumStoreBudgetByteCount: Int64 = 10 << 20

  /// The share of its disk that an automatic budget gives the store: of what is free, or in the store
  /// already.
  package static let storeBudgetDivisor: Int64 = 4

  /// The range of durations, here and in requests.
  package static let durationRange = RequestOptions.expiryRange

  /// The idle time after which a coordinator that a command started ends.
  package static let commandIdleExit = Duration.seconds(600)

  /// The size of `sun_path` without its terminating zero (unix(7)).
  package static let maximumSocketPathByteCount = 107

  /// The defaults with given paths.
  package init(socketPath: String, dataDirectory: String) {
    self.socketPath = socketPath
    self.dataDirectory = dataDirectory
  }

  /// The settings of the arguments and the environment.
  ///
  /// - Parameter arguments: read with a description that lists ``Setting/options`` or some of them.
  /// - Throws: ``UsageError`` that names the flag or variable at fault.
  package init(
    _ arguments: ArgumentReader, environment: [String: String], userID: UInt32,
    startedBy starter: Starter
  ) throws(UsageError) {
    let places = DefaultPlaces(environment: environment, userID: userID)
    self.init(socketPath: places.socketPath, dataDirectory: places.dataDirectory ?? "")
    if starter == .command { idleExit = Self.commandIdleExit }
    let settings = Setting.all + (starter == .command ? [.autostart] : [])
    for setting in settings {
      try setting.read(from: arguments, environment: environment, into: &self)
    }
    proxies = try ProxySettings(proxyChoice, environment: environment)
    guard !dataDirectory.isEmpty else {
      throw UsageError(
        "--data-dir: no default directory, because HOME is not set; give a directory")
    }
    if limits.storeBudgetByteCount < Self.minimumStoreBudgetByteCount {
      refusedStoreBudgetByteCount = limits.storeBudgetByteCount
      limits.storeBudgetByteCount = Self.minimumStoreBudgetByteCount
    }
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

  /// A note about settings that differ from the requested ones; `nil` if none do.
  package var remark: String? {
    refusedStoreBudgetByteCount.map { asked in
      "the store budget is \(UnitScale.size.text(limits.storeBudgetByteCount)), the minimum, "
        + "instead of \(UnitScale.size.text(asked))"
    }
  }

  /// The flags of these settings, independent of the starter. With the variables of ``environment`` they
  /// are independent of the environment, too.
  package var arguments: [String] {
    Setting.all.flatMap { $0.arguments(for: self) }
  }

  /// The variables of the settings that have no place among ``arguments``, which every user can see.
  package var environment: [String: String] { proxies.environment }
}
