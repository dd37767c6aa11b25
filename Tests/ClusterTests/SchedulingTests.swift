import ImgModel
import TestCluster
import TestOrigin
import Testing

/// What starts when, as the origin sees it.
@Suite(.timeLimit(.minutes(20)))
struct SchedulingTests {
  private let origin: ListOrigin

  init() throws {
    origin = try ListOrigin()
  }

  @Test func `transfers start at once, up to the limit`() throws {
    let cluster = try Cluster(["TRANSFERS": "2"])
    let held = try origin.holdPictures(5)
    let jobs = try held.map { try cluster.submit([origin.url($0)]) }
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 2 })
    try #require(try cluster.waitUntilLookedUp())
    #expect(try cluster.status().transfers == 2)
    #expect(origin.origin.totals().requests == 2)
    origin.release(held)
    for job in jobs { #expect(try cluster.finished(job).done == 1) }
    #expect(origin.origin.totals().peakInFlight == 2)
  }

  @Test func `a URL of several jobs and a viewer is fetched once`() throws {
    let cluster = try Cluster.inOrder(["TRANSFERS": "1"])
    let held = try origin.holdPictures(1)
    let url = origin.url("/p/3")
    let jobs = [
      try cluster.submit(held.map(origin.url) + [url, url]), try cluster.submit([url, url]),
    ]
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    let viewer = try cluster.begin(["get", url])
    try #require(try cluster.waitUntil { $0.viewers == 1 })
    origin.release(held)
    #expect(try viewer.wait().exitCode == 0)
    #expect(try jobs.map { try cluster.finished($0).done } == [3, 2])
    #expect(origin.origin.counters("/p/3").requests == 1)
  }

  @Test func `fifty slow URLs reach the limit exactly`() throws {
    let cluster = try Cluster(["TRANSFERS": "5"])
    let job = try origin.gather(5) { try cluster.submit(origin.pictures(50)) }
    #expect(try cluster.finished(job).done == 50)
    #expect(origin.origin.totals().peakInFlight == 5)
  }

  @Test func `a limit of zero transfers is refused`() throws {
    let cluster = try Cluster()
    for flag in ["--transfers", "--transfers-per-host"] {
      for command in ["start", "limits"] {
        try cluster.expectRefused(command, flag, "0", because: flag)
      }
    }
    #expect(try cluster.status().limits.transfers == 64)
  }

  @Test(arguments: [false, true])
  func `a URL of two jobs has the higher priority until that job is cancelled`(
    isStrongerLeaving: Bool
  ) throws {
    let cluster = try Cluster(["TRANSFERS": "1"])
    let held = try origin.holdPictures(1)
    let first = try cluster.submit(held.map(origin.url))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    let low = try cluster.submit([origin.url("/p/1")], "--priority", "-2")
    let middle = try cluster.submit([origin.url("/p/2")])
    let high = try cluster.submit([origin.url("/p/1")], "--priority", "2")
    try #require(try cluster.waitUntilLookedUp())
    if isStrongerLeaving { #expect(try cluster.imgctl("cancel", "\(high)").exitCode == 0) }
    origin.release(held)
    for job in [first, low, middle] { #expect(try cluster.finished(job).done == 1) }
    let rest = isStrongerLeaving ? ["/p/2", "/p/1"] : ["/p/1", "/p/2"]
    #expect(origin.origin.startOrder() == held + rest)
  }

  @Test func `a changed priority applies to URLs that have not started`() throws {
    let cluster = try Cluster.inOrder(["TRANSFERS": "1"])
    let held = try origin.holdPictures(1)
    _ = try cluster.submit(held.map(origin.url))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    let jobs = try [["/p/1", "/p/2"], ["/p/3", "/p/4"], ["/p/5", "/p/6"]].map {
      try cluster.submit($0.map(origin.url))
    }
    #expect(try cluster.imgctl("priority", "\(jobs[2])", "1").exitCode == 0)
    #expect(try cluster.imgctl("priority", "\(jobs[0])", "-1").exitCode == 0)
    #expect(try cluster.status(of: jobs[2]).priority == 1)
    try #require(try cluster.waitUntilLookedUp())
    origin.release(held)
    for job in jobs { #expect(try cluster.finished(job).done == 2) }
    let order = ["/p/5", "/p/6", "/p/3", "/p/4", "/p/1", "/p/2"]
    #expect(origin.origin.startOrder() == held + order)
  }

  @Test(arguments: [(order: "fifo", isReversed: false), (order: "lifo", isReversed: true)])
  func `--order selects the first or the last line first for any number of workers`(
    order: String, isReversed: Bool
  ) throws {
    let cluster = try Cluster(["TRANSFERS": "1", "WORKERS": "3"])
    let lines = origin.pictures(200)
    let job = try cluster.submit(lines, "--order", order)
    #expect(try cluster.finished(job).done == lines.count)
    let starts = origin.origin.startOrder().map(origin.url)
    #expect(starts == (isReversed ? lines.reversed() : lines))
  }

  /// Of transfers that begin together, in several processes, any may be the first to reach the
  /// origin.
  @Test func `each free slot goes to the next line of the list`() throws {
    let cluster = try Cluster(["TRANSFERS": "4", "WORKERS": "3"])
    let held = try origin.holdPictures(12)
    let job = try cluster.submit((held + (0..<60).map { "/p/\($0)" }).map(origin.url))
    for count in 4..<held.count {
      try #require(origin.origin.waitUntil { $0.totals.requests == count })
      #expect(Set(origin.origin.startOrder()) == Set(held.prefix(count)))
      origin.release([held[count - 4]])
    }
    origin.release(held)
    #expect(try cluster.finished(job).done == 72)
  }
}
