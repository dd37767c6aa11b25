package import ImgSettings
import ImgSystem
import Synchronization

extension ClusterTransport {
  /// Uses the cluster of a program that has its own settings, with a coordinator beside it.
  ///
  /// - Parameter starter: for a process that is confined; `nil` if this process starts coordinators.
  package convenience init(
    _ settings: Settings, starter: CoordinatorStarter? = nil
  ) throws(ImageError) {
    let places = ClusterPlaces(
      settings.resolved(in: ThisProcess.currentDirectory ?? "/"), starter: starter)
    try self.init(places) { () throws(ClientError) in try places.connect() }
  }

  /// Goes on with a connection that was made before. If it is lost, another one is made at the same socket,
  /// to a coordinator of the same store; none is started.
  package convenience init(
    _ settings: Settings, continuing client: sending Client
  ) throws(ImageError) {
    let socketPath = client.socketPath
    let storeDirectory = client.storeDirectory
    let first = FirstClient(client)
    try self.init(ClusterPlaces(settings)) { () throws(ClientError) in
      if let client = first.take() { return client }
      let next = try Client(socketPath: socketPath)
      try next.requireStore(in: storeDirectory)
      return next
    }
  }
}

/// A client on its way to the thread that uses it.
private final class FirstClient: Sendable {
  private let client: Mutex<Client?>

  init(_ client: sending Client) {
    self.client = Mutex(client)
  }

  /// - Returns: the client, once.
  func take() -> sending Client? {
    client.withLock { $0.take() }
  }
}
