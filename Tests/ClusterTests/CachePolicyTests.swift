import ImgModel
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// `--cache-policy`, row by row, from the command line to the origin's log.
@Suite(.timeLimit(.minutes(20)))
struct CachePolicyTests {
  private let cluster: Cluster
  private let origin: TestOrigin
  private let body: [UInt8]
  private let url: String

  init() throws {
    cluster = try Cluster()
    origin = try TestOrigin()
    body = try PictureMaker.start().card(index: 1)
    url = origin.baseURL + "/a"
  }

  private func serve(_ cacheControl: String) {
    let headers = [Header("Cache-Control", cacheControl)]
    origin.serve("/a", .resource(Resource(body, entityTag: "\"1\"", headers: headers)))
  }

  private var requestCount: Int { origin.counters("/a").requests }
  private var bytesSent: Int { origin.counters("/a").bytesSent }

  /// What `--json` says of a picture, as far as it is checked here.
  private struct Report: Decodable {
    let from_cache: Bool
    let stored: Bool
  }

  private func get(_ policy: CachePolicy, _ options: String...) throws -> Report {
    let result = try cluster.begin(
      ["get", url, "--json", "--cache-policy", policy.rawValue] + options
    ).wait()
    return try result.decoded(Report.self)
  }

  @Test func `protocol: a 304 makes a stale thumbnail fresh without download or decode`()
    throws
  {
    serve("max-age=0")
    #expect(try !get(.byProtocol).from_cache)
    serve("max-age=3600")
    #expect(try get(.byProtocol).from_cache)
    #expect(requestCount == 2)
    #expect(origin.counters("/a").headersSeen["if-none-match"] == "\"1\"")
    #expect(bytesSent == body.count)
    // From the map.
    #expect(try get(.byProtocol).from_cache)
    #expect(try get(.byProtocol, "--keep", "all").from_cache == false)
    #expect(try get(.byProtocol, "--keep", "all").from_cache)
    #expect(requestCount == 3)
  }

  @Test
  func `protocol: stale-if-error applies while the circuit breaker is open`()
    throws
  {
    #expect(try cluster.imgctl("limits", "--transfers-per-host", "10").exitCode == 0)
    serve("max-age=0, stale-if-error=3600")
    #expect(try !get(.byProtocol).from_cache)
    let busy = (1...10).map { "/busy/\($0)" }
    let failing = Response(
      status: 503, headers: [Header("Retry-After", "300")], delivery: .hold)
    for path in busy { origin.serve(path, .response(failing)) }
    let job = try cluster.submit(busy.map { origin.baseURL + $0 })
    try #require(origin.waitUntil { $0.totals.inFlight == 10 })
    busy.forEach(origin.release)
    #expect(try cluster.finished(job).failed == 10)
    #expect(try get(.byProtocol).from_cache)
    #expect(requestCount == 1)
    // Who waits for the origin goes on waiting.
    let other = try cluster.begin(["get", url, "--size", "32", "--cache-policy", "reload"])
    try #require(try cluster.waitUntil { $0.viewers == 1 && $0.isNothingLookedUp })
    #expect(other.isRunning)
    #expect(requestCount == 1)
  }

  @Test func `protocol: revalidated lines of a list count as from the cache`() throws {
    serve("no-cache")
    let job = try cluster.submit([url], "--cache-policy", "protocol")
    #expect(try cluster.finished(job).fromCache == 0)
    let again = try cluster.finished(cluster.submit([url], "--cache-policy", "protocol"))
    #expect([again.done, again.fromCache, Int(again.bytesFetched)] == [1, 1, 0])
    #expect(requestCount == 2)
    #expect(bytesSent == body.count)
  }

  @Test func `protocol: a no-store picture is fetched for each request and not stored`() throws {
    serve("no-store")
    for count in 1...2 {
      let report = try get(.byProtocol)
      #expect(!report.from_cache && !report.stored)
      #expect(requestCount == count)
    }
    #expect(try get(.cacheElseLoad).stored)
    #expect(try get(.cacheElseLoad).from_cache)
    #expect(requestCount == 3)
  }

  @Test func `protocol: stale-while-revalidate serves a stale thumbnail during revalidation`()
    throws
  {
    serve("max-age=0, stale-while-revalidate=3600")
    _ = try get(.byProtocol)
    origin.serve("/a", .body(body, delivery: .hold))
    #expect(try get(.byProtocol).from_cache)
    #expect(origin.waitUntil { $0["/a"].requests == 2 })
    #expect(origin.counters("/a").headersSeen["if-none-match"] == "\"1\"")
  }

  @Test func `protocol: stale-if-error serves a stale thumbnail if the origin fails`() throws {
    serve("max-age=0, stale-if-error=3600")
    _ = try get(.byProtocol)
    origin.serve("/a", .status(503))
    #expect(try get(.byProtocol).from_cache)
    #expect(requestCount == 2)
  }

  @Test func `reload: a stored picture is fetched and stored again`() throws {
    serve("max-age=3600")
    _ = try get(.byProtocol)
    #expect(try !get(.reload).from_cache)
    #expect(requestCount == 2)
    #expect(bytesSent == 2 * body.count)
    let job = try cluster.submit([url], "--cache-policy", "reload")
    #expect(try cluster.finished(job).fromCache == 0)
    #expect(requestCount == 3)
    #expect(try get(.byProtocol).from_cache)
  }

  @Test func `cache-only: a picture that is not stored fails without a request`() throws {
    serve("max-age=0")
    let missed = try cluster.imgctl("get", url, "--cache-policy", "cache-only")
    #expect(missed.exitCode == 1)
    #expect(missed.messages.hasPrefix("imgctl: \(url): not_cached: "))
    let job = try cluster.submit([url], "--cache-policy", "cache-only")
    #expect(try cluster.finished(job).failed == 1)
    #expect(try cluster.failures(of: job) == [url: "not_cached"])
    #expect(requestCount == 0)
    #expect(try !get(.cacheElseLoad, "--keep", "all").from_cache)
    #expect(try get(.cacheOnly).from_cache)
    #expect(try get(.cacheOnly, "--size", "32").from_cache)
    #expect(requestCount == 1)
  }

  @Test func `unknown cache policies are refused`() throws {
    try cluster.expectRefused("get", url, "--cache-policy", "protocoll", because: "protocol")
    try cluster.expectRefused(
      "get", url, "--no-cache", "--cache-policy", "cache-only", because: "exclude each other")
    try cluster.expectRefused("get", "-", "--cache-policy", "reload", because: "are for URLs")
    try cluster.expectRefused(
      "cache", "put", url, "-", "--cache-policy", "reload", because: "--cache-policy")
  }
}
