import TestCluster
import TestFiles
import TestHTTP
import TestOrigin
import Testing

/// The gateway behind nginx as `deploy` configures it.
@Suite(
  .timeLimit(.minutes(2)), .enabled(if: CachingProxy.isInstalled, "nginx is not installed"))
struct ReverseProxyTests {
  private let cluster: Cluster
  private let origin: TestOrigin
  private let gateway: GatewayProcess
  private let proxy: CachingProxy

  init() throws {
    let fixture = try GatewayFixture()
    (cluster, origin) = (fixture.cluster, fixture.origin)
    origin.serve("/a", .body(fixture.picture))
    origin.serve("/later", .sequence([.status(500), .body(fixture.picture)]))
    let path = cluster.directory.file("gateway.sock")
    gateway = try GatewayProcess(cluster, ["--host", "images.example.org"], listen: "unix:\(path)")
    proxy = try CachingProxy(gatewayPath: path)
  }

  private func target(_ path: String) -> String {
    "/image?url=\(origin.baseURL)\(path)&w=64"
  }

  @Test func `nginx asks for a picture once, and for each format that clients accept`()
    async throws
  {
    let first = try await proxy.response(target("/a"), "Accept: image/jpeg")
    #expect(first.status == 200)
    #expect(first["X-Cache-Status"] == "MISS")
    #expect(first["Content-Type"] == "image/jpeg")
    let other = try await proxy.response(target("/a"), "Accept: image/webp,*/*")
    #expect(other["X-Cache-Status"] == "MISS")
    #expect(other["Content-Type"] == "image/webp")
    // Nothing is left to answer but the cache of nginx.
    _ = try gateway.beginStop()
    #expect(try gateway.run.wait(atMost: .seconds(20)).exitCode == 0)
    for (accepted, expected) in [("image/jpeg", first), ("image/webp,*/*", other)] {
      let hit = try await proxy.response(target("/a"), "Accept: \(accepted)")
      #expect(hit["X-Cache-Status"] == "HIT", "\(accepted)")
      #expect(hit.body == expected.body)
    }
  }

  @Test func `nginx keeps no failure, and shows no metrics`() async throws {
    let failed = try await proxy.response(target("/later"))
    #expect(failed.status == 502)
    #expect(try failed.failureCode() == "http_status")
    let picture = try await proxy.response(target("/later"))
    #expect(picture.status == 200)
    #expect(picture["X-Cache-Status"] == "MISS")
    #expect(try await gateway.response("/metrics").status == 200)
    #expect(try await proxy.response("/metrics").status == 404)
  }
}
