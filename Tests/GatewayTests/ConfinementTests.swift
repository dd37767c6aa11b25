import ImgSystem
import TestCluster
import TestFiles
import TestHTTP
import TestOrigin
import Testing

@testable import ImgHTTP

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
    #expect(try fixture.gateway.run.messages().contains("imggateway: sandbox: seccomp, "))
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
