import ImgModel
import ImgWire
import TestCluster
import TestOrigin
import Testing

/// Limits as an origin feels them.
@Suite(.timeLimit(.minutes(20)))
struct LimitTests {
  @Test func `transfers from one host reach and keep their limit`() throws {
    let cluster = try Cluster(["TRANSFERS_PER_HOST": "3"])
    let origin = try ListOrigin()
    let job = try origin.gather(3) { try cluster.submit(origin.pictures(100)) }
    #expect(try cluster.finished(job).done == 100)
    #expect(origin.origin.totals().peakInFlight == 3)
  }

  @Test func `transfers of the whole cluster reach and keep their limit`() throws {
    let cluster = try Cluster(["TRANSFERS": "2"])
    let origin = try ListOrigin()
    // One origin under two names is two hosts with one log.
    let job = try origin.gather(2) {
      try cluster.submit(
        origin.pictures(50).flatMap { [$0, $0.replacing("127.0.0.1", with: "localhost")] })
    }
    #expect(try cluster.finished(job).done == 100)
    #expect(origin.origin.totals().peakInFlight == 2)
  }

  @Test func `a limit changed at run time applies at once`() throws {
    let cluster = try Cluster(["TRANSFERS": "6"])
    let origin = try ListOrigin()
    let held = try origin.holdPictures(60)
    let job = try cluster.submit(held.map(origin.url))
    for limit in [6, 2, 5] {
      #expect(try cluster.imgctl("limits", "--transfers", "\(limit)").exitCode == 0)
      // With these end those that began by the limit of before.
      try replaceTransfers(of: origin, by: limit)
      let mark = origin.origin.snapshot.log.count
      for _ in 0..<2 { try replaceTransfers(of: origin, by: limit) }
      #expect(origin.origin.snapshot.peakInFlight(from: mark) == limit)
    }
    origin.release(held)
    #expect(try cluster.finished(job).done == held.count)
    #expect(origin.origin.totals().peakInFlight == 6)
  }

  @Test func `slow transfers hold up no picture of another host, nor its list`() throws {
    let cluster = try Cluster(["TRANSFERS": "8", "TRANSFERS_PER_HOST": "4"])
    let origin = try ListOrigin()
    let held = try origin.holdPictures(16)
    let port = origin.origin.port
    let channel = try cluster.greetedChannel()
    for (index, path) in held.enumerated() {
      try channel.sendWhole(
        .get(
          GetRequest(
            id: RequestID(rawValue: UInt64(index + 1)),
            url: "http://slow\(index / 4).localhost:\(port)\(path)",
            options: RequestOptions(variant: .standard))))
    }
    // The second eight take the slots of the first.
    #expect(origin.origin.waitUntil { $0.totals.inFlight == 16 })
    #expect(try cluster.imgctl("get", origin.url("/p/1"), "--json").exitCode == 0)
    #expect(try cluster.run(origin.pictures(20)).done == 20)
    #expect(origin.origin.totals().inFlight == 16, "the slow ones are still under way")
    origin.release(held)
    for _ in held {
      guard case .got = try channel.nextInTime() else {
        Issue.record("each is answered")
        return
      }
    }
  }

  /// Lets go what is held, and waits until so many others are.
  private func replaceTransfers(of origin: ListOrigin, by count: Int) throws {
    let ending = origin.origin.snapshot.paths.filter { $0.value.inFlight > 0 }.map(\.key)
    origin.release(ending)
    try #require(
      origin.origin.waitUntil { snapshot in
        snapshot.totals.inFlight == count && ending.allSatisfy { snapshot[$0].inFlight == 0 }
      })
  }

  @Test func `transfers start at a host within its rate`() throws {
    let cluster = try Cluster(["RATE_PER_HOST": "2/s"])
    let origin = try ListOrigin()
    let begin = ContinuousClock.now
    #expect(try cluster.run(origin.pictures(6)).done == 6)
    let starts = origin.origin.snapshot.starts().map(\.moment)
    #expect(starts.count == 6)
    // Two may begin at once; a delay on the way to the origin only makes the others later.
    for (index, moment) in starts.enumerated() {
      #expect(moment - begin >= .milliseconds(500) * (index - 1), "start \(index)")
    }
  }

  @Test func `pictures beyond a limit fail with its code`() throws {
    let cluster = try Cluster(["MAX_BODY": "10000", "MAX_PIXELS": "3000"])
    let origin = try ListOrigin()
    origin.origin.serve("/large", .body(Array(repeating: 0, count: 10_001)))
    let status = try cluster.run([origin.url("/large"), origin.url("/p/1")])
    let failures = try cluster.failures(of: status.job)
    #expect(failures[origin.url("/large")] == Failure.Code.tooLarge.rawValue)
    #expect(failures[origin.url("/p/1")] == Failure.Code.tooManyPixels.rawValue)
  }
}
