import TestCluster
import TestHTTP
import TestOrigin
import TestPictures

/// A gateway with its cluster and an origin, all for one test.
struct GatewayFixture {
  let cluster: Cluster
  let origin: TestOrigin
  let gateway: GatewayProcess
  /// A JPEG of 320 × 240 pixels.
  let picture: [UInt8]

  /// No program starts a coordinator by itself. A transfer that the origin holds back does not fail before the test
  /// lets it go on, however slow the machine is.
  ///
  /// - Parameters:
  ///   - arguments: of `imggateway`.
  ///   - settings: of all programs, as of ``Cluster``. They may be others than these.
  ///   - coordinatorArguments: of the coordinator alone.
  init(
    _ arguments: [String] = [], _ settings: [String: String] = [:],
    coordinatorArguments: [String] = []
  ) throws {
    let defaults = ["AUTOSTART": "no", "STALL_TIMEOUT": "10m", "TRANSFER_TIMEOUT": "10m"]
    cluster = try Cluster(
      settings.merging(defaults) { given, _ in given }, isStarted: false)
    try cluster.start(coordinatorArguments)
    origin = try TestOrigin()
    gateway = try GatewayProcess(cluster, arguments)
    picture = try PictureMaker.start().card(index: 1)
  }

  /// The target of a path of the origin.
  ///
  /// - Parameter host: a name of this machine. Each is a host of its own to the cluster.
  func target(
    _ path: String, _ options: String = "w=64", of host: String = "127.0.0.1"
  ) -> String {
    "/image?url=http://\(host):\(origin.port)\(path)&\(options)"
  }

  /// The response to a request for a path of the origin.
  func image(_ path: String, _ options: String = "w=64") async throws -> RawResponse {
    try await gateway.response(target(path, options))
  }
}
