import ImgSystem
import TestCluster
import TestFiles
import TestHTTP
import TestOrigin
import Testing

@testable import ImgHTTP

/// Where the program listens.
@Suite(.timeLimit(.minutes(2)))
struct ListeningTests {
  private let cluster: Cluster

  init() throws {
    cluster = try Cluster(["AUTOSTART": "no"], isStarted: false)
  }

  @Test func `the gateway listens at a Unix socket`() async throws {
    let path = cluster.directory.file("http.sock")
    let gateway = try GatewayProcess(cluster, listen: "unix:\(path)")
    #expect(gateway.address == .unix(path: path))
    #expect(try await gateway.response("/health").status == 200)
  }

  @Test func `the gateway takes over the socket of a service manager`() async throws {
    let path = cluster.directory.file("passed.sock")
    let listener = try UnixListener(path: path)
    let gateway = try GatewayProcess(cluster, passed: listener.descriptor)
    #expect(gateway.address == .unix(path: path))
    #expect(try await gateway.response("/health").status == 200)
  }

  @Test(arguments: [("localhost:0", "127.0.0.1"), ("[::1]:0", "::1")])
  func `the gateway listens on loopback, IPv4 or IPv6`(listen: String, host: String) async throws {
    let gateway = try GatewayProcess(cluster, listen: listen)
    guard case .tcp(host, _) = gateway.address else {
      Issue.record("\(gateway.address)")
      return
    }
    #expect(try await gateway.response("/health").status == 200)
    #expect(try await gateway.response("/v2/list").status != 404)
  }

  @Test func `a socket for other machines needs a signature, also a passed one`() async throws {
    let socket = try InternetListener.open(SocketAddress(ip: [0, 0, 0, 0], port: 0))
    let result = try GatewayProcess.result(cluster, [], passed: socket.rawValue)
    #expect(result.exitCode == 2)
    #expect(result.messages.contains("--key-file"))

    let keys = try cluster.directory.write(
      Array("00112233445566ff 0a0b\n".utf8), to: "keys", mode: 0o600)
    let gateway = try GatewayProcess(cluster, ["--key-file", keys], passed: socket.rawValue)
    #expect(try await gateway.response("/health").status == 200)
    let unsigned = try await gateway.response("/image?url=http://127.0.0.1/a")
    #expect(unsigned.status == 403)
    #expect(try unsigned.failureCode() == "invalid_signature")
    #expect(try await gateway.response("/v2/list").status == 404)
  }

  @Test(arguments: [([], true), (["--gallery", "no"], false)] as [([String], Bool)])
  func `only where the gallery is, clients are told why no picture can be loaded`(
    arguments: [String], isTold: Bool
  ) async throws {
    let gateway = try GatewayProcess(cluster, arguments)
    let response = try await gateway.response("/ready")
    #expect(response.status == 503)
    #expect(response.text.contains(cluster.directory.file("")) == isTold, "\(response.text)")
    #expect((response.text == "not ready\n") != isTold)
  }

  @Test func `a client of another host name is told what it can do, and the log what to set`()
    async throws
  {
    let gateway = try GatewayProcess(cluster)
    for name in ["a.example", "b.example"] {
      var client = try gateway.connect()
      try client.send("GET /health HTTP/1.1\r\nHost: \(name)\r\n\r\n")
      let response = try await client.receive()
      #expect(response.status == 403)
      #expect(try response.failureCode() == "unknown_host")
      #expect(!response.text.contains("--"))
    }
    let lines = try gateway.run.messages().split(separator: "\n").filter { $0.contains("--host") }
    #expect(lines.count == 1)
    #expect(lines.first?.contains("a.example") == true)
  }

  @Test(arguments: [0o444, 0o644] as [UInt32])
  func `a key file that all users can read, as secrets of containers are, makes a line in the log`(
    mode: UInt32
  ) async throws {
    let keys = try cluster.directory.write(
      Array("00112233445566ff 0a0b\n".utf8), to: "keys", mode: mode)
    let gateway = try GatewayProcess(cluster, ["--key-file", keys])
    #expect(try await gateway.response("/image?url=http://127.0.0.1/a").status == 403)
    #expect(try gateway.run.messages().contains("all users of this machine can read \(keys)"))
  }
}

/// What the gateway gives up before its first request.
@Suite(.timeLimit(.minutes(2)))
struct ConfinementTests {
  @Test(arguments: ["no", "yes"])
  func `the gateway is confined, and says so`(autostart: String) async throws {
    let fixture = try GatewayFixture([], ["AUTOSTART": autostart])
    let picture = fixture.picture
    fixture.origin.fallback = { _, _ in .body(picture) }
    #expect(try await fixture.image("/a").status == 200)
    let status = try Self.status(of: fixture.gateway)
    #expect(status["NoNewPrivs"] == "1")
    #expect(status["Seccomp"] == "2")
    #expect(try Self.excessCapabilities(in: status) == 0)
    let messages = try fixture.gateway.run.messages()
    #expect(messages.contains("imggateway: sandbox: seccomp, "))
    let sentence = "imggateway: starts no coordinator: --autostart is no\n"
    #expect(messages.contains(sentence) == (autostart == "no"))
  }

  @Test func `a confined gateway removes the socket that it listens at`() async throws {
    let cluster = try Cluster(["AUTOSTART": "no"], isStarted: false)
    let path = cluster.directory.file("listen.sock")
    let gateway = try GatewayProcess(cluster, listen: "unix:\(path)")
    #expect(try await gateway.response("/health").status == 200)
    _ = try gateway.beginStop()
    #expect(try gateway.run.wait(atMost: .seconds(20)).exitCode == 0)
    #expect(throws: SystemError.self) { try FileStatus(at: path) }
  }

  /// A port that only root can bind, unless the machine says otherwise (ip(7),
  /// ip_unprivileged_port_start).
  @Test(.enabled(if: privilegedPort != nil, "this process cannot bind a port below 1024"))
  func `a gateway binds a port below 1024 before it gives up root's privileges`() async throws {
    let port = try #require(Self.privilegedPort)
    let cluster = try Cluster(["AUTOSTART": "no"], isStarted: false)
    let gateway = try GatewayProcess(cluster, listen: "127.0.0.1:\(port)")
    #expect(try await gateway.response("/health").status == 200)
    #expect(try Self.excessCapabilities(in: Self.status(of: gateway)) == 0)
  }

  private static let privilegedPort = (900..<1000).first {
    (try? InternetListener.open(SocketAddress(ip: [127, 0, 0, 1], port: $0))) != nil
  }

  /// What the kernel says of a process (proc_pid_status(5)).
  private static func status(of gateway: GatewayProcess) throws -> [Substring: Substring] {
    let path = "/proc/\(gateway.run.processID)/status"
    let text = String(decoding: try FileIO.contents(of: path, upTo: 1 << 16), as: UTF8.self)
    let fields = text.split(separator: "\n").map { $0.split(separator: ":\t") }
    return Dictionary(uniqueKeysWithValues: fields.filter { $0.count == 2 }.map { ($0[0], $0[1]) })
  }

  /// The effective capabilities except CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH of root
  /// (capabilities(7)).
  private static func excessCapabilities(in status: [Substring: Substring]) throws -> UInt64 {
    try #require(status["CapEff"].flatMap { UInt64($0, radix: 16) }) & ~0b110
  }
}
