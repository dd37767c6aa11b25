import FoundationEssentials
import ImgHTTP
import ImgSystem
import TestCluster
import TestFiles
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
    cluster = try Cluster(settings.merging(defaults) { given, _ in given }, isStarted: false)
    try cluster.start(coordinatorArguments)
    origin = TestOrigin()
    gateway = try GatewayProcess(cluster, arguments)
    picture = try PictureMaker.start().card(index: 1)
  }

  /// The target of a path of the origin.
  ///
  /// - Parameter host: a name of this machine. Each is a host of its own to the cluster.
  func target(_ path: String, _ options: String = "w=64", of host: String = "127.0.0.1") -> String {
    "/image?url=http://\(host):\(origin.port)\(path)&\(options)"
  }

  /// The response to a request for a path of the origin.
  func image(_ path: String, _ options: String = "w=64") async throws -> RawResponse {
    try await gateway.response(target(path, options))
  }
}

/// The program `imggateway` as a process. It ends with this object at the latest.
final class GatewayProcess {
  let address: HTTPServer.Address
  let run: ProgramRun
  private let manager: DatagramReceiver

  static let terminate: CInt = 15
  private static let startTime = Duration.seconds(20)

  /// Starts the program and waits until it serves.
  ///
  /// - Parameters:
  ///   - arguments: beside `--listen`.
  ///   - listen: an address that this process can connect to.
  ///   - passed: a listening socket that the program gets as a service manager hands it over.
  init(
    _ cluster: Cluster, _ arguments: [String] = [], listen: String = "127.0.0.1:0",
    passed: CInt? = nil
  ) throws {
    let path = cluster.directory.file("notify-\(UInt32.random(in: 0...UInt32.max))")
    manager = try DatagramReceiver(address: path)
    run = try Self.start(
      cluster, ["--listen", listen] + arguments, ["NOTIFY_SOCKET": path], passed: passed)
    let message = try manager.next(until: .now + Self.startTime)
    guard let message, let address = HTTPServer.Address(readiness: message) else {
      throw GatewayDidNotStart(description: "\(message ?? "") \(try run.messages())")
    }
    self.address = address
  }

  /// Runs the program to its end, which comes at once.
  ///
  /// - Parameter passed: as of the initialiser.
  static func result(
    _ cluster: Cluster, _ arguments: [String], passed: CInt? = nil
  ) throws -> ProgramResult {
    try start(cluster, arguments, passed: passed).wait(atMost: startTime)
  }

  private static func start(
    _ cluster: Cluster, _ arguments: [String], _ variables: [String: String] = [:], passed: CInt?
  ) throws -> ProgramRun {
    var environment = cluster.environment.merging(variables) { _, added in added }
    var command = [try Programs.path(of: "imggateway")] + arguments
    var descriptors: [(parent: CInt, child: CInt)] = []
    if let passed {
      environment["LISTEN_FDS"] = "1"
      let script = "export LISTEN_PID=$$; exec \"$@\""
      command = ["/bin/sh", "-c", script, "sh"] + command
      // SD_LISTEN_FDS_START (sd_listen_fds(3)).
      descriptors = [(parent: passed, child: 3)]
    }
    return try ProgramRun(
      command[0], Array(command.dropFirst()), environment: environment, descriptors: descriptors,
      in: cluster.directory)
  }

  /// Asks for an end in order, and waits until the program begins it.
  ///
  /// - Returns: what it tells the service manager.
  func beginStop(_ signal: CInt = terminate) throws -> String? {
    run.signal(signal)
    return try manager.next(until: .now + Self.startTime)
  }

  func connect() throws -> RawClient {
    try RawClient(to: address)
  }

  /// The response to a request on a connection of its own.
  func response(
    _ target: String, _ fields: String..., method: String = "GET"
  ) async throws -> RawResponse {
    var client = try connect()
    try client.request(target, fields, method: method)
    return try await client.receive(toHead: method == "HEAD")
  }

  /// The value of a metric without labels; `nil` if there is none.
  func metric(_ name: String) async throws -> Int? {
    let lines = try await response("/metrics").text.split(separator: "\n")
    return lines.first { $0.hasPrefix("\(name) ") }.flatMap { Int($0.dropFirst(name.count + 1)) }
  }

  /// Asks for a metric until it has a value.
  func wait(for name: String, toBe value: Int) async throws {
    let deadline = ContinuousClock.now + RawClient.patience
    while case let last = try await metric(name), last != value {
      guard ContinuousClock.now < deadline else {
        throw UnreachedMetric(name: name, last: last, wanted: value)
      }
    }
  }
}

/// A metric that did not get a value in time.
struct UnreachedMetric: Error {
  let name: String
  let last: Int?
  let wanted: Int
}

/// Why there is no gateway, with what it said.
struct GatewayDidNotStart: Error, CustomStringConvertible {
  let description: String
}

extension HTTPServer.Address {
  /// The address in a notification of readiness.
  fileprivate init?(readiness message: String) {
    let prefix = "READY=1\nSTATUS=serving at "
    guard message.hasPrefix(prefix) else { return nil }
    let address = message.dropFirst(prefix.count)
    if address.hasPrefix("unix:") {
      self = .unix(path: String(address.dropFirst("unix:".count)))
      return
    }
    guard address.hasSuffix("/") else { return nil }
    let text = address.dropLast()
    guard let colon = text.lastIndex(of: ":"),
      let port = UInt16(text[text.index(after: colon)...])
    else { return nil }
    let host = text[..<colon].dropFirst("http://".count).filter { $0 != "[" && $0 != "]" }
    self = .tcp(host: host, port: port)
  }
}

extension RawClient {
  /// Sends a request without a body.
  func request(_ target: String, _ fields: [String] = [], method: String = "GET") throws {
    let lines = ["\(method) \(target) HTTP/1.1", "Host: localhost"] + fields
    let length = method == "POST" ? ["Content-Length: 0"] : []
    try send((lines + length).map { $0 + "\r\n" }.joined() + "\r\n")
  }
}

/// A connection for an array, which holds no noncopyable values.
final class Connection {
  var socket: RawClient

  init(to address: HTTPServer.Address) throws {
    socket = try RawClient(to: address)
  }
}

/// The body of a response that says why there is no picture.
struct FailureBody: Decodable {
  struct Details: Decodable {
    let code: String
    let message: String
    let retryable: Bool
  }

  let error: Details
}

extension RawResponse {
  /// The code of a failure.
  func failureCode() throws -> String { try decoded(FailureBody.self).error.code }

  func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try JSONDecoder().decode(type, from: Data(body))
  }
}
