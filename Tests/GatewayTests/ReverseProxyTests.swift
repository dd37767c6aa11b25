import ImgHTTP
import ImgModel
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

  /// A client must ask again at the end of the record, whenever it has asked before.
  @Test func `a client may keep a picture no longer than the store, wherever it comes from`()
    async throws
  {
    let path = target("/a")
    var direct = try await gateway.response(path)
    // The age of the picture is not 0 when nginx gets it.
    while direct["Age"] == "0" { direct = try await gateway.response(path) }
    let expires = try #require(direct["Expires"])
    let expiry = try #require(HTTPDate(expires, now: .now)).moment
    let missed = try await proxy.response(path)
    #expect(missed["X-Cache-Status"] == "MISS")
    #expect(try #require(missed.freshUntil) <= expiry)
    var kept = try await proxy.response(path)
    while kept["Date"] == missed["Date"] { kept = try await proxy.response(path) }
    #expect(kept["X-Cache-Status"] == "HIT")
    #expect(try #require(kept.freshUntil) <= expiry)
  }

  @Test func `what nginx does not keep has the lifetime that the gateway gave it`() async throws {
    let job = try cluster.submit(["\(origin.baseURL)/a"])
    _ = try await gateway.response("/api/jobs/\(job)/events")
    let targets = [
      "/", try await asset(), "/v2/list", "/api/jobs", "/id/\(job)-0", "/id/\(job)-9",
      target("/missing"),
    ]
    for target in targets {
      let expected = try #require(try await gateway.response(target)["Cache-Control"], "\(target)")
      for _ in 1...2 {
        #expect(try await proxy.response(target)["Cache-Control"] == expected, "\(target)")
      }
    }
  }

  /// The target of a file of the gallery, which never changes.
  private func asset() async throws -> String {
    let page = try await gateway.response("/").text
    let start = try #require(page.firstRange(of: "/assets/")).lowerBound
    return String(page[start...].prefix { $0 != "\"" })
  }

  @Test func `events go through nginx as they come`() async throws {
    origin.serve("/held", .body([1], delivery: .hold))
    let job = try cluster.submit(["\(origin.baseURL)/held"])
    var client = try proxy.connect()
    try client.request("/api/jobs/\(job)/events")
    _ = try await client.receive(through: "event: job")
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

extension RawResponse {
  /// When a client must ask again (RFC 9111, sections 4.2.1 and 4.2.3). The response has just arrived.
  fileprivate var freshUntil: WallTime? {
    guard let date = self["Date"].flatMap({ HTTPDate($0, now: .now) })?.moment else { return nil }
    let age = self["Age"].flatMap { Int($0) } ?? 0
    let directives = (self["Cache-Control"] ?? "").split(separator: ", ")
    if let maximum = directives.first(where: { $0.hasPrefix("max-age=") }) {
      return Int(maximum.dropFirst("max-age=".count)).map {
        date.advanced(by: .seconds($0 - age))
      }
    }
    return self["Expires"].flatMap { HTTPDate($0, now: .now) }?.moment
  }
}
