import ImgSystem
import TestCluster
import TestFiles
import TestHTTP
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

  @Test func `a port that is in use is named with the option for another one`() throws {
    let gateway = try GatewayProcess(cluster)
    guard case .tcp(let host, let port) = gateway.address else {
      Issue.record("\(gateway.address)")
      return
    }
    let result = try GatewayProcess.result(cluster, ["--listen", "\(host):\(port)"])
    #expect(result.exitCode == 1)
    #expect(result.messages.contains("port \(port)"))
    #expect(result.messages.contains("--listen"))
  }

  @Test func `the gateway takes over the socket of a service manager`() async throws {
    let path = cluster.directory.file("passed.sock")
    let listener = try UnixListener(path: path)
    let gateway = try GatewayProcess(cluster, passed: listener.descriptor)
    #expect(gateway.address == .unix(path: path))
    #expect(try await gateway.response("/health").status == 200)
  }

  @Test(arguments: [("localhost:0", "127.0.0.1"), ("[::1]:0", "::1")])
  func `the gateway listens on loopback, of IPv4 or IPv6`(
    listen: String, host: String
  ) async throws {
    let gateway = try GatewayProcess(cluster, listen: listen)
    guard case .tcp(host, _) = gateway.address else {
      Issue.record("\(gateway.address)")
      return
    }
    #expect(try await gateway.response("/health").status == 200)
    #expect(try await gateway.response("/v2/list").status != 404)
  }

  @Test func `a socket that other machines reach needs a signature, also a passed one`()
    async throws
  {
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

  @Test func `a gateway that other machines reach tells them no reason`() async throws {
    let socket = try InternetListener.open(SocketAddress(ip: [0, 0, 0, 0], port: 0))
    let gateway = try GatewayProcess(
      cluster, ["--allow-unsigned", "--gallery", "yes"], passed: socket.rawValue)
    #expect(try await gateway.response("/ready").text == "not ready\n")
  }

  @Test func `a key file that all users can change is refused`() throws {
    let keys = try cluster.directory.write(
      Array("00112233445566ff 0a0b\n".utf8), to: "keys", mode: 0o666)
    let result = try GatewayProcess.result(
      cluster, ["--listen", "127.0.0.1:0", "--key-file", keys])
    #expect(result.exitCode == 2)
    #expect(result.messages.contains("chmod 600 \(keys)"))
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

  @Test(arguments: ["0.0.0.0:0", "[::]:0"])
  func `other machines need a signature, or the permission to go without`(
    address: String
  ) throws {
    let result = try GatewayProcess.result(cluster, ["--listen", address])
    #expect(result.exitCode == 2)
    #expect(result.messages.contains("--key-file"))
    #expect(result.messages.contains("--allow-unsigned"))
  }

  @Test func `a port that is taken is named`() throws {
    let gateway = try GatewayProcess(cluster)
    guard case .tcp(let host, let port) = gateway.address else {
      Issue.record("\(gateway.address)")
      return
    }
    let result = try GatewayProcess.result(cluster, ["--listen", "\(host):\(port)"])
    #expect(result.exitCode == 1)
    #expect(result.messages.contains("port \(port)"))
    #expect(result.messages.contains("choose another port"))
    let wrong = try GatewayProcess.result(
      cluster, ["--listen", "\(host):\(port)", "--preset", "x"])
    #expect(wrong.exitCode == 2)
    #expect(wrong.messages.contains("--preset"))
  }
}
