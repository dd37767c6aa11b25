import ImgHTTP
import ImgModel
import ImgSandbox
import ImgSettings
import ImgSystem

/// What the gateway gives up before its first request. A coordinator that it starts inherits the loss, so a
/// gateway that may start one keeps what that needs.
struct Confinement {
  private let places: Settings
  private let isMock: Bool
  private let startsCoordinator: Bool

  /// - Parameters:
  ///   - places: of the cluster; absolute.
  ///   - isMock: whether the cluster is in memory, so that the places mean nothing.
  init(places: Settings, isMock: Bool) {
    self.places = places
    self.isMock = isMock
    startsCoordinator = places.startsCoordinator && !isMock
  }

  var start: SandboxStart { startsCoordinator ? .coordinator : .gateway }

  /// Locks this process, which has one thread.
  ///
  /// - Parameter address: where it listens already.
  /// - Returns: the protections in force.
  func lock(
    _ sandbox: consuming Sandbox, listeningAt address: HTTPServer.Address
  ) throws(SandboxError) -> SandboxReport {
    if !isMock {
      // A rule for a directory needs the directory. Where it cannot be made, nothing is stored.
      try? Directory.createPrivate(places.dataDirectory)
      try? Directory.create(places.storePlace, mode: 0o700)
    }
    return try sandbox.lock(profile(listeningAt: address.path), isRequired: false)
  }

  private func profile(listeningAt path: String?) -> SandboxProfile {
    guard startsCoordinator else {
      let manager = ServiceManager(environment: ThisProcess.environment)
      return .gateway(
        GatewayPlaces(
          storePlace: places.storePlace, listeningPath: path,
          hasAbstractManager: manager.isAbstract))
    }
    let paths = WritablePaths(
      dataDirectory: places.dataDirectory, socketPath: places.socketPath,
      storePlace: places.storePlace)
    return .coordinator(
      writablePaths: paths.all + [path.map(UnixSocket.directory)].compactMap(\.self))
  }
}

extension HTTPServer.Address {
  /// Of the file of a socket; `nil` for a port.
  fileprivate var path: String? {
    if case .unix(let path) = self { path } else { nil }
  }
}
