import ImgHTTP
import ImgSystem
import TestCluster
import TestFiles
import TestHTTP
import Testing

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
  }
}
