import ImgModel
import ImgWire
import SeededRandom
import Testing
import WorkerSimulation

/// A worker under a coordinator that sends anything it may, with origins, a store and a decoder that
/// end in any order and with any result.
struct WorkerSimulationTests {
  @Test func `every lease ends once and every body is released, whatever happens`() {
    for seed in 0..<UInt64(400) {
      var faults: [String] = []
      var random = SeededGenerator(seed: seed)
      var run = Run { faults.append($0) }
      for _ in 0..<120 { run.act(&random) }
      run.drain(&random)
      #expect(faults.isEmpty, "seed \(seed)")
      #expect(run.isStopped, "seed \(seed)")
    }
  }
}

/// What a coordinator may do, within the rules of the protocol.
private struct Run {
  private let worker: SimulatedWorker
  private var now = Moment(instant: .now, wall: WallTime(rawValue: 1_800_000_000_000))
  private var lastLease: UInt64 = 0
  /// Transfers that wait for slots.
  private var redirected: [TransferID] = []

  private static let urls = [
    "http://a.example/1", "http://a.example/closed", "http://b.example/2", "data:,x", "no URL",
  ]

  init(report: @escaping (String) -> Void) {
    worker = SimulatedWorker(SimulatedStore(), at: now, report: report)
  }

  var isStopped: Bool { worker.isStopped }

  mutating func act(_ random: inout SeededGenerator) {
    now = Moment(
      instant: now.instant + .milliseconds(100), wall: now.wall.advanced(by: .milliseconds(100)))
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<4: receive(.fetch(batch(&random)))
    case 4, 5: receive(.attach(batch(&random)))
    case 6: receive(.decode(batch(&random)))
    case 7: receive(.lookup(batch(&random)))
    case 8: receive(.decodeUpload(upload(&random)))
    case 9, 10:
      // Also leases that have ended.
      let lease = LeaseID(rawValue: UInt64.random(in: 0...lastLease, using: &random))
      receive(.cancel([lease]))
    case 11: followRedirects()
    default: step(&random)
    }
  }

  /// Lets everything end, then has the worker stop.
  mutating func drain(_ random: inout SeededGenerator) {
    receive(.drain)
    for _ in 0..<5_000 where !worker.isStopped {
      followRedirects()
      step(&random)
    }
    worker.checkEnd()
  }

  private mutating func receive(_ message: CoordinatorMessage) {
    worker.receive(message, at: now)
    takeMessages()
  }

  private mutating func step(_ random: inout SeededGenerator) {
    worker.step(&random, at: now)
    takeMessages()
  }

  private mutating func takeMessages() {
    for case .redirected(let redirections) in worker.takeMessages() {
      redirected += redirections.map(\.transfer)
    }
  }

  private mutating func followRedirects() {
    let transfers = redirected
    redirected = []
    if !transfers.isEmpty { receive(.followRedirects(transfers)) }
  }

  private mutating func nextLease() -> LeaseID {
    lastLease += 1
    return LeaseID(rawValue: lastLease)
  }

  private mutating func batch(_ random: inout SeededGenerator) -> Batch {
    let items = (0..<Int.random(in: 1...3, using: &random)).map { _ in
      Assignment(
        lease: nextLease(), url: Self.urls[Int.random(in: Self.urls.indices, using: &random)])
    }
    return Batch(
      request(&random), retention: Retention(after: .seconds(60)),
      isUrgent: Bool.random(using: &random), items: items)
  }

  private mutating func upload(_ random: inout SeededGenerator) -> Upload {
    Upload(
      lease: nextLease(), url: Bool.random(using: &random) ? Self.urls[0] : nil,
      request: request(&random), retention: Retention(), byteCount: 10)
  }

  private func request(_ random: inout SeededGenerator) -> ThumbnailRequest {
    ThumbnailRequest(
      variant: .standard,
      keep: Keep.allCases[Int.random(in: Keep.allCases.indices, using: &random)],
      fetch: FetchOptions(
        cachePolicy: Bool.random(using: &random) ? .byProtocol : .cacheElseLoad,
        respectsOptOut: Bool.random(using: &random),
        respectsRobots: Bool.random(using: &random),
        redirectOrigins: SimulatedOrigins.list(&random)),
      bypassesStore: Int.random(in: 0..<6, using: &random) == 0)
  }
}
