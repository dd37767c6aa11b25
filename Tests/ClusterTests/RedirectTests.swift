import ImgModel
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// Redirects that lead to other hosts, as their origins feel them.
@Suite(.timeLimit(.minutes(20)))
struct RedirectTests {
  private static let perHost = 2

  @Test func `redirects of eight hosts to one keep the limit of that host`() throws {
    let cluster = try Cluster(["TRANSFERS_PER_HOST": "\(Self.perHost)"])
    let target = try ListOrigin()
    let targetURLs = (0..<40).map { target.url("/p/\($0)") }
    let redirecting = try TestOrigin { path, _ in
      Int(path.dropFirst()).map { .redirect(to: targetURLs[$0]) }
    }
    let held = (0..<8).map { "/p/\($0)" }
    for path in held { try target.hold(path) }
    // One origin under eight names is eight hosts.
    let list = targetURLs.indices.map { number in
      "\(redirecting.baseURL)/\(number)".replacing(
        "127.0.0.1", with: "host\(number % 8).localhost")
    }
    let job = try cluster.submit(list)
    // Each host has sent a transfer on, and as many as the limit allows have come.
    try #require(redirecting.waitUntil { $0.totals.requests >= 8 })
    try #require(target.origin.waitUntil { $0.totals.inFlight >= Self.perHost })
    target.release(held)
    #expect(try cluster.finished(job).done == list.count)
    #expect(target.origin.totals().peakInFlight == Self.perHost)
    #expect(target.origin.totals().requests == list.count)
    #expect(redirecting.totals().requests == list.count)
  }

  @Test func `a redirect inside a host continues at once`() throws {
    let cluster = try Cluster(["TRANSFERS_PER_HOST": "1"])
    let origin = try ListOrigin()
    origin.origin.serve("/here", .redirect(to: "/p/1"))
    #expect(try cluster.run([origin.url("/here")]).done == 1)
    #expect(origin.origin.snapshot["/p/1"].requests == 1)
  }
}
