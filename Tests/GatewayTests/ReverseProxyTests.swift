import FoundationEssentials
import ImgHTTP
import ImgModel
import ImgSystem
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

  @Test func `nginx asks for a picture once, and for each format of its clients`() async throws {
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
  @Test func `a client may keep a picture no longer than the store, from wherever`() async throws {
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

/// nginx with the configuration of `deploy`, but for its certificate and for where it listens: at a Unix
/// socket without TLS. Ends with this object.
final class CachingProxy {
  static let executable = "/usr/sbin/nginx"
  static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: executable) }

  private let directory = TestDirectory()
  private let run: ProgramRun

  private static let terminate: CInt = 15

  private var address: HTTPServer.Address { .unix(path: directory.file("front.sock")) }

  /// - Parameter gatewayPath: the Unix socket of the gateway.
  init(gatewayPath: String) throws {
    let text = try Self.configuration(in: directory, gatewayPath: gatewayPath)
    let configuration = try directory.write(Array(text.utf8), to: "nginx.conf")
    run = try ProgramRun(
      Self.executable, ["-p", directory.path, "-c", configuration, "-e", "errors"],
      environment: [:], in: directory)
    let deadline = ContinuousClock.now + RawClient.patience
    // nginx listens before it writes this file.
    while !FileManager.default.fileExists(atPath: directory.file("nginx.pid")) {
      guard ContinuousClock.now < deadline, run.isRunning else {
        throw GatewayDidNotStart(description: try run.messages())
      }
    }
  }

  deinit {
    run.signal(Self.terminate)
    // It is killed with its run.
    _ = try? run.wait(atMost: RawClient.patience)
  }

  func connect() throws -> RawClient {
    try RawClient(to: address)
  }

  func response(_ target: String, _ fields: String...) async throws -> RawResponse {
    var client = try connect()
    try client.request(target, fields)
    return try await client.receive()
  }

  /// One process, which needs no rights of its own.
  private static func configuration(
    in directory: TestDirectory, gatewayPath: String
  ) throws -> String {
    // This file is ROOT/Tests/GatewayTests/ReverseProxyTests.swift.
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
    let path = root.joined(separator: "/") + "/deploy/nginx-imgctl.conf"
    let deployed = String(decoding: try FileIO.contents(of: path, upTo: 1 << 16), as: UTF8.self)
    let lines = deployed.split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !$0.contains("[::]") && !$0.contains("ssl_certificate") }
    let server = lines.joined(separator: "\n")
      .replacing("/run/imggateway.sock", with: gatewayPath)
      .replacing("/var/cache/nginx-imgctl", with: directory.file("cache"))
      .replacing("listen 80;", with: "listen unix:\(directory.file("redirect.sock"));")
      .replacing("listen 443 ssl http2;", with: "listen unix:\(directory.file("front.sock"));")
    let temporaryPaths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map { "\($0)_temp_path \(directory.file($0));" }
    return """
      daemon off;
      master_process off;
      pid \(directory.file("nginx.pid"));
      events { worker_connections 256; }
      http {
      access_log off;
      \(temporaryPaths.joined(separator: "\n"))
      \(server)
      }
      """
  }
}

/// What curl makes of the answers.
@Suite(.timeLimit(.minutes(2)))
struct CurlTests {
  @Test func `curl fetches a picture that it has only if the one it has is older`() async throws {
    let fixture = try GatewayFixture()
    fixture.origin.serve("/a", .body(fixture.picture))
    let directory = fixture.cluster.directory
    guard case .tcp(let host, let port) = fixture.gateway.address else {
      Issue.record("\(fixture.gateway.address)")
      return
    }
    let url = "http://\(host):\(port)\(fixture.target("/a"))"
    let file = directory.file("a")
    func status(_ options: String...) throws -> String {
      let arguments = ["--http1.1", "-sS", "-w", "%{http_code} %{size_download}"] + options + [url]
      let result = try ProgramRun(
        "/usr/bin/curl", arguments, environment: [:], in: directory
      ).wait()
      #expect(result.exitCode == 0, "\(result.messages)")
      return result.output
    }

    let count = try await fixture.image("/a").body.count
    // The file gets the date of Last-Modified.
    #expect(try status("-R", "-o", file) == "200 \(count)")
    #expect(try status("-z", file, "-o", directory.file("b")) == "304 0")
    #expect(try status("-z", "2001-01-01", "-o", file) == "200 \(count)")
    // The entity tag of the last answer.
    let tags = directory.file("tags")
    #expect(try status("--etag-save", tags, "-o", file) == "200 \(count)")
    #expect(try status("--etag-compare", tags, "-o", directory.file("b")) == "304 0")
    // curl itself tells 304 when the picture of a 200 is not newer.
    let unchanged = "imgctl_gateway_requests_total{route=\"image\",status=\"304\"}"
    #expect(try await fixture.gateway.metric(unchanged) == 2)
  }
}
