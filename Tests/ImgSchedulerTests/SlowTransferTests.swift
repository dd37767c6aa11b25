import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Transfers to which next to nothing comes, for as long as a transfer may take.
@Suite struct SlowTransferTests {
  private static let credits = Credits(lookups: 1_024, leases: 2_048, decodeQueueTarget: 8)

  private let cluster = ClusterModel.started(transfers: 64, perHost: 8, credits: credits)

  init() {
    // With so many viewers, checking all of the state after each event takes minutes.
    cluster.areInvariantsChecked = false
  }

  /// Each new transfer turns slow, until no other begins.
  private func slowDown() {
    var known: Set<String> = []
    while true {
      let new = cluster.fetching.filter { !known.contains($0) && $0.contains("slow") }
      guard !new.isEmpty else { return }
      known.formUnion(new)
      for url in new where cluster.fetch(of: url) != nil { cluster.turn(url, slow: true) }
    }
  }

  /// A viewer for each of so many pictures, eight a host.
  private func viewSlowly(_ numbers: Range<Int>, host: (Int) -> String) {
    for number in numbers { cluster.view(url(number, host: host(number / 8))) }
    cluster.answerLookups()
  }

  private func confirmCancelled() {
    for worker in cluster.workers.values {
      for fetch in worker.fetches where worker.cancelled.contains(fetch.lease) {
        cluster.finish(fetch, of: worker.id, .cancelled)
      }
    }
  }

  @Test(arguments: [64, 144, 720], [true, false])
  func `a new picture of another host begins beside slow ones, which others replace at once`(
    count: Int, isOneGroup: Bool
  ) {
    let host = { (number: Int) in isOneGroup ? "h\(number).slow.org" : "slow\(number).org" }
    viewSlowly(0..<count, host: host)
    slowDown()
    for round in 1...4 {
      // As many again, before what has come to its end is known.
      viewSlowly(count * round..<count * round + 8, host: host)
      let picture = url(round, host: "other\(round).com")
      cluster.view(picture)
      cluster.answerLookups()
      #expect(cluster.fetching.contains(picture), "in round \(round)")
      cluster.transferred(picture)
      cluster.finish(picture)
      slowDown()
      confirmCancelled()
    }
    let queue = cluster.scheduler.transferQueue
    #expect(queue.asideCount <= 256 && queue.underWay <= 64 + 256)
  }

  @Test func `the group with the most slow transfers loses its oldest one, and waits itself`() {
    viewSlowly(0..<640) { "h\($0).slow.org" }
    slowDown()
    #expect(cluster.cancelledLeases.isEmpty && cluster.fetching.count == 312)
    viewSlowly(640..<648) { _ in "slow.net" }
    slowDown()
    #expect(cluster.cancelledLeases.isEmpty, "an eighth of the slots was reserved")
    viewSlowly(648..<656) { _ in "slow.com" }
    #expect(cluster.fetching.count { $0.contains("slow.com") } == 8)
    #expect(cluster.cancelledLeases.count == 8)
    confirmCancelled()
    let failures = cluster.answers.values.compactMap { outcome -> Failure? in
      if case .failed(let failure, _) = outcome { failure } else { nil }
    }
    #expect(failures.count == 8)
    #expect(failures.allSatisfy { $0.code == .timeout && $0.isRetryable })
    viewSlowly(656..<664) { _ in "h99.slow.org" }
    #expect(!cluster.fetching.contains { $0.contains("h99") })
  }

  @Test func `a list has no more transfers than slots, but its slow ones make room for viewers`() {
    cluster.areInvariantsChecked = true
    cluster.submit((1...100).map { url($0, host: "slow\($0)") })
    cluster.answerLookups()
    slowDown()
    #expect(cluster.fetching.count == 56, "an eighth is reserved")
    for number in 1...20 { cluster.view(url(number, host: "other\(number)")) }
    cluster.answerLookups()
    #expect(cluster.fetching.count == 76)
    #expect(cluster.scheduler.transferQueue.asideCount == 12)
  }

  @Test func `lists of prompt hosts go on beside slow viewers`() {
    cluster.submit((1...30).map { url($0, host: "fast") })
    cluster.answerLookups()
    cluster.transferred(url(1, host: "fast"))
    viewSlowly(0..<720) { "h\($0).slow.org" }
    slowDown()
    for number in 2...20 {
      let picture = url(number, host: "fast")
      #expect(cluster.fetching.contains(picture))
      cluster.transferred(picture)
    }
  }

  @Test func `a transfer that is slow no more has a slot again`() {
    let cluster = ClusterModel.started(transfers: 2)
    cluster.view(url(1, host: "slow"))
    cluster.answerLookups()
    cluster.turn(url(1, host: "slow"), slow: true)
    #expect(cluster.scheduler.transferQueue.asideCount == 1)
    cluster.turn(url(1, host: "slow"), slow: false)
    #expect(cluster.scheduler.transferQueue.asideCount == 0)
    cluster.submit(spreadURLs(1...5))
    cluster.answerLookups()
    #expect(cluster.fetching.count == 2)
    cluster.transferred(url(1, host: "slow"))
    #expect(cluster.scheduler.transferCount == 2)
  }
}
