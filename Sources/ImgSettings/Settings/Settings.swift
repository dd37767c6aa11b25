package import ImgModel

/// Everything a person can set where a coordinator starts. A value of this type is complete and in
/// range.
///
/// Each setting comes from its flag, else from its environment variable, else from its default. An
/// empty variable counts as not set.
package struct Settings: Hashable, Sendable {
  /// Who starts the coordinator.
  package enum Starter: Sendable {
    /// A person or a service manager: it stays until it is stopped.
    case person
    /// A command that found none running: it leaves when nobody has needed it for a while.
    case command
  }

  package var limits = Limits()
  /// Where the coordinator listens, a path of at most ``maximumSocketPathByteCount`` bytes.
  package var socketPath: String
  /// What holds the journal and the store.
  package var dataDirectory: String
  /// The networks that may be fetched from although their addresses are not public.
  package var allowedNetworks: [NetworkRange] = []
  /// The directories below which files may be read that lists name.
  package var allowedDirectories: [String] = []
  /// Certificates of the authorities to trust, as PEM; `nil` for those of the system.
  package var authorityFile: String?
  /// How long the coordinator stays without clients and jobs; `nil` for ever.
  package var idleExitMilliseconds: Int64?
  /// Whether a command starts a coordinator when none answers; `nil` where the place of the socket
  /// decides, see ``startsCoordinator``. The coordinator itself is not told.
  package var autostart: Bool?
  /// The program that the coordinator runs as its workers; `nil` for the one beside its own.
  package var workerExecutable: String?
  /// The store budget that was asked for, where it is below the least and so was raised; else `nil`.
  package private(set) var refusedStoreBudgetByteCount: Int64?

  /// The least store budget; a smaller one is raised to it.
  package static let minimumStoreBudgetByteCount: Int64 = 10 << 20

  /// What a duration may be, here and in requests.
  package static let durationRangeMilliseconds = RequestOptions.expiryRangeMilliseconds

  /// How long a coordinator that a command started stays idle.
  package static let commandIdleExitMilliseconds: Int64 = 10 * 60_000

  /// The size of `sun_path` without the byte that ends it (unix(7)).
  package static let maximumSocketPathByteCount = 107

  /// The defaults at given places.
  package init(socketPath: String, dataDirectory: String) {
    self.socketPath = socketPath
    self.dataDirectory = dataDirectory
  }

  /// The settings that arguments and environment ask for.
  ///
  /// - Parameter arguments: read by a description that lists ``Setting/options`` or some of them.
  /// - Throws: ``UsageError`` that names the flag or the variable at fault.
  package init(
    _ arguments: ArgumentReader, environment: [String: String], userID: UInt32,
    startedBy starter: Starter
  ) throws(UsageError) {
    let places = DefaultPlaces(environment: environment, userID: userID)
    self.init(socketPath: places.socketPath, dataDirectory: places.dataDirectory ?? "")
    if starter == .command { idleExitMilliseconds = Self.commandIdleExitMilliseconds }
    let settings = Setting.all + (starter == .command ? [.autostart] : [])
    for setting in settings {
      try setting.read(from: arguments, environment: environment, into: &self)
    }
    guard !dataDirectory.isEmpty else {
      throw UsageError(
        "--data-dir: there is no place for the data, because HOME is not set; name a directory")
    }
    if limits.storeBudgetByteCount < Self.minimumStoreBudgetByteCount {
      refusedStoreBudgetByteCount = limits.storeBudgetByteCount
      limits.storeBudgetByteCount = Self.minimumStoreBudgetByteCount
    }
  }

  /// What a person is to know of settings that are not as they were asked for; `nil` when all are.
  package var remark: String? {
    refusedStoreBudgetByteCount.map { asked in
      "the store's budget is \(UnitScale.size.text(limits.storeBudgetByteCount)), the least there "
        + "is, and not \(UnitScale.size.text(asked))"
    }
  }

  /// The flags that say all this again, whatever the environment and the starter.
  package var arguments: [String] {
    Setting.all.flatMap { setting in
      setting.texts(in: self).flatMap { [setting.option.flag, $0] }
    }
  }
}
