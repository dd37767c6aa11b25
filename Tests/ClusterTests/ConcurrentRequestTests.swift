import ImgClient
import ImgModel
import ImgTransport
import ImgWire
import TestCluster
import TestOrigin
import Testing

/// Who waits for one picture, beside others that wait for it and lists that hold it.
@Suite(.timeLimit(.minutes(20)))
struct ConcurrentRequestTests {
  private let cluster: Cluster
  private let origin: ListOrigin

  init() throws {
    cluster = try Cluster.inOrder()
    origin = try ListOrigin()
  }

  @Test func `two hundred concurrent gets are each answered once`() throws {
    let channel = try cluster.greetedChannel()
    let count: UInt64 = 200
    let lines = origin.mixedList(60).lines
    for number in 1...count {
      try channel.sendWhole(
        .get(
          GetRequest(
            id: RequestID(rawValue: number), url: lines[Int(number) % lines.count],
            options: RequestOptions(variant: .standard))))
    }
    var answered: [RequestID: Int] = [:]
    while answered.count < count {
      guard case .got(let got) = try channel.nextInTime() else {
        Issue.record("a get is answered by what was got")
        return
      }
      answered[got.id, default: 0] += 1
    }
    // Had one been answered twice, the second answer would come before this one.
    try channel.sendWhole(.status(PlainRequest(id: RequestID(rawValue: count + 1))))
    guard case .status(let status) = try channel.nextInTime() else {
      Issue.record("nothing else was to be said")
      return
    }
    #expect(status.cluster.viewers == 0)
    #expect(answered.values.allSatisfy { $0 == 1 })
  }

  @Test func `two hundred concurrent jobs each report their end once`() throws {
    let client = try cluster.client()
    let channel = try cluster.greetedChannel()
    for number in 0..<200 {
      var lines: [[String]] = [[origin.url("/p/\(number)")]]
      let submitted = try client.submit(
        name: nil, options: RequestOptions(variant: .standard), order: .firstInFirstOut
      ) { lines.popLast() }
      let id = RequestID(rawValue: submitted.job.rawValue)
      try channel.sendWhole(.job(JobRequest(id: id, job: submitted.job, isWatching: true)))
    }
    var ends: [JobID: Int] = [:]
    while ends.count < 200 {
      guard case .job(let reply) = try channel.nextInTime() else {
        Issue.record("a watch is answered by the job")
        return
      }
      if reply.status.hasEnded { ends[reply.status.job, default: 0] += 1 }
    }
    try channel.sendWhole(.status(PlainRequest(id: RequestID(rawValue: 1_000))))
    guard case .status = try channel.nextInTime() else {
      Issue.record("nothing else was to be said")
      return
    }
    #expect(ends.values.allSatisfy { $0 == 1 })
    #expect(origin.origin.totals().requests == 200)
  }

  @Test func `if one of two viewers of a URL disconnects, the other gets the picture`() throws {
    try origin.hold("/held")
    let runs = try (0..<2).map { _ in try cluster.begin(["get", origin.url("/held")]) }
    try #require(try cluster.waitUntil { $0.viewers == 2 })
    try #require(origin.origin.waitUntil { $0.totals.inFlight == 1 })
    runs[0].signal(9)
    try #require(try cluster.waitUntil { $0.viewers == 1 })
    origin.origin.release("/held")
    let result = try runs[1].wait()
    #expect(result.exitCode == 0)
    #expect(!result.outputBytes.isEmpty)
    #expect(origin.origin.counters("/held").requests == 1)
    #expect(origin.origin.totals().aborted == 0)
  }

  @Test func `cancelling a job does not cancel a URL that a viewer waits for`() throws {
    let held = try origin.holdPictures(8)
    let job = try cluster.submit(held.map(origin.url) + origin.pictures(20))
    try #require(origin.origin.waitUntil { $0.totals.inFlight == held.count })
    let viewer = try cluster.begin(["get", origin.url(held[0])])
    try #require(try cluster.waitUntil { $0.viewers == 1 })
    #expect(try cluster.imgctl("cancel", "\(job)").exitCode == 0)
    #expect(try cluster.status(of: job).cancelled == 28)
    #expect(origin.origin.waitUntil { $0.totals.aborted == held.count - 1 })
    origin.release(held)
    #expect(try viewer.wait().exitCode == 0)
    #expect(origin.origin.counters(held[0]).requests == 1)
    #expect(origin.origin.totals().requests == held.count)
  }

  @Test func `a viewer that moves on does not get the previous picture`() throws {
    try origin.hold("/slow")
    let slow = try cluster.begin(["get", "--viewer", "v", origin.url("/slow")])
    try #require(origin.origin.waitUntil { $0["/slow"].inFlight == 1 })
    let fast = try cluster.imgctl("get", "--viewer", "v", origin.url("/p/1"))
    #expect(fast.exitCode == 0)
    #expect(!fast.outputBytes.isEmpty)
    let left = try slow.wait()
    #expect(left.exitCode == 1)
    #expect(left.outputBytes.isEmpty)
    #expect(left.messages.contains("replaced this one"))
    #expect(origin.origin.waitUntil { $0["/slow"].aborted == 1 })
    try #require(try cluster.waitUntil { $0.transfers == 0 })
    #expect(try cluster.status().discardedLate == 1)
  }
}
