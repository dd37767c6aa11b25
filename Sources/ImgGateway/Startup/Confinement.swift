import ImgClient
import ImgHTTP
import ImgModel
import ImgSandbox
import ImgSettings
import ImgSystem

/// What the gateway gives up before its first request, and the process that does what it then cannot: start
/// a coordinator.
struct Confinement: ~Copyable {
  /// What starts coordinators; `nil` if the gateway starts none.
  let starter: CoordinatorStarter?
  private let places: Settings
  private let isMock: Bool

  /// Launches the process that starts coordinators, which needs the privileges that this one gives up later.
  ///
  /// - Parameters:
  ///   - arguments: of the gateway.
  ///   - places: of the cluster; absolute.
  ///   - isMock: whether the cluster is in memory, so that the places mean nothing.
  ///   - note: takes a line for the log.
  init(
    arguments: [String], places: Settings, isMock: Bool, note: @escaping @Sendable (String) -> Void
  ) throws {
    starter =
      places.startsCoordinator && !isMock
      ? try CoordinatorStarter(
        executable: "\(ThisProcess.executableDirectory ?? ".")/imggateway", arguments: arguments,
        note: note)
      : nil
    self.places = places
    self.isMock = isMock
  }

  /// Gives up privileges, and locks this process, which has one thread. Not before it listens, because a port
  /// below 1024 needs a privilege.
  ///
  /// - Parameter address: where it listens already.
  /// - Returns: the protections in force.
  consuming func lock(listeningAt address: HTTPServer.Address) throws(SandboxError) -> SandboxReport
  {
    let sandbox = try Sandbox(start: .gateway)
    if !isMock { Self.makeDirectories(of: places) }
    let manager = ServiceManager(environment: ThisProcess.environment)
    let needed = GatewayPlaces(
      storePlace: places.storePlace, listeningPath: address.path,
      hasAbstractManager: manager.isAbstract)
    return try sandbox.lock(.gateway(needed), isRequired: false)
  }

  /// Is the process that starts coordinators until the gateway ends. A coordinator inherits what this
  /// process gives up.
  ///
  /// - Parameter places: of the cluster; absolute.
  static func serveStarts(at places: Settings) throws {
    let sandbox = try Sandbox(start: .coordinator)
    makeDirectories(of: places)
    let paths = WritablePaths(
      dataDirectory: places.dataDirectory, socketPath: places.socketPath,
      storePlace: places.storePlace)
    _ = try sandbox.lock(.coordinator(writablePaths: paths.all), isRequired: false)
    try CoordinatorStarter.serve(places)
  }

  /// A rule for a directory needs the directory. Where it cannot be made, nothing is stored.
  private static func makeDirectories(of places: Settings) {
    try? Directory.createPrivate(places.dataDirectory)
    try? Directory.create(places.storePlace, mode: 0o700)
  }
}

extension HTTPServer.Address {
  /// Of the file of a socket; `nil` for a port.
  fileprivate var path: String? {
    if case .unix(let path) = self { path } else { nil }
  }
}
