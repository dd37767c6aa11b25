import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Every event in every stage of a work item, once.
@Suite struct StageTests {
  enum Stage: String, CaseIterable {
    case awaitingLookup, lookingUp, awaitingTransfer, awaitingDecode, transferring, decoding
  }

  enum Event: String, CaseIterable {
    case waiterJoins, waiterLeaves, lastLeaves, workerAnswers, workerDies, jobPaused, jobCancelled,
      drain
  }

  /// What becomes of the item.
  struct After: Equatable {
    /// `nil` when it is gone.
    var stage: Stage?
    var waiterCount = 0
    /// Whether its worker is told to abort.
    var isAborted = false

    init(_ stage: Stage? = nil, waiters: Int = 0, isAborted: Bool = false) {
      self.stage = stage
      waiterCount = waiters
      self.isAborted = isAborted
    }
  }

  struct Row: CustomTestStringConvertible {
    let stage: Stage
    let event: Event
    let after: After

    var testDescription: String { "\(stage), \(event)" }
  }

  /// A list's line and a viewer wait for the item when the event comes.
  static let rows: [Row] = [
    row(.waiterJoins) { After($0, waiters: 3) },
    row(.waiterLeaves) { After($0, waiters: 1) },
    row(.lastLeaves) { stage in
      switch stage {
      case .awaitingLookup, .awaitingTransfer, .awaitingDecode: After()
      case .lookingUp: After(stage)
      case .transferring, .decoding: After(stage, isAborted: true)
      }
    },
    row(.workerAnswers) { stage in
      switch stage {
      case .awaitingLookup: After(.lookingUp, waiters: 2)
      case .lookingUp: After(.awaitingTransfer, waiters: 2)
      case .awaitingTransfer: After(.transferring, waiters: 2)
      case .awaitingDecode: After(.decoding, waiters: 2)
      case .transferring: After(.decoding, waiters: 2)
      case .decoding: After()
      }
    },
    row(.workerDies) { stage in
      After(isWaiting(stage) && stage != .awaitingLookup ? stage : .awaitingLookup, waiters: 2)
    },
    row(.jobPaused) { After($0, waiters: isHeld($0) ? 2 : 1) },
    row(.jobCancelled) { After($0, waiters: 1) },
    row(.drain) { After($0, waiters: isHeld($0) ? 2 : 1) },
  ].flatMap(\.self)

  private static func row(_ event: Event, _ after: (Stage) -> After) -> [Row] {
    Stage.allCases.map { Row(stage: $0, event: event, after: after($0)) }
  }

  /// Whether it waits for a worker.
  private static func isWaiting(_ stage: Stage) -> Bool {
    [.awaitingLookup, .awaitingTransfer, .awaitingDecode].contains(stage)
  }

  /// Whether a worker has it.
  private static func isHeld(_ stage: Stage) -> Bool { !isWaiting(stage) }

  @Test func `the table has each pair once`() {
    let pairs = Set(Self.rows.map(\.testDescription))
    #expect(pairs.count == Self.rows.count)
    #expect(pairs.count == Stage.allCases.count * Event.allCases.count)
  }

  @Test(arguments: rows)
  func `each stage takes each event`(row: Row) {
    let scene = Scene(at: row.stage)
    scene.happen(row.event)
    #expect(scene.state == row.after)
    scene.advance(after: row.event)
  }

  @Test func `a hit ends the look-up`() {
    let scene = Scene(at: .lookingUp)
    scene.cluster.prestore([scene.url])
    scene.cluster.answerLookups()
    #expect(scene.state == After())
    #expect(scene.cluster.answers[scene.viewer] == .cachedSample)
  }
}

extension StageTests {
  /// A cluster with one place, and a URL in a stage for which a line and a viewer wait.
  struct Scene {
    let cluster: ClusterModel
    let job: JobID
    let viewer: ViewerID
    let url = ClusterSimulation.url(1, host: "a")
    private let blocker = ClusterSimulation.url(2, host: "b")

    init(at stage: Stage) {
      // A worker that takes one lease, or none that waits for the decoder beside it.
      let leases = stage == .awaitingDecode ? 1 : 128
      cluster = ClusterModel.started(
        transfers: 1, credits: Credits(lookups: 256, leases: leases, decodeQueueTarget: 8))
      if stage == .awaitingDecode { cluster.store.originals[url] = Retention() }
      if [.awaitingTransfer, .awaitingDecode, .lookingUp].contains(stage) {
        cluster.view(blocker)
        cluster.answerLookups()
      }
      job = cluster.submit([url])
      viewer = cluster.view(url)
      switch stage {
      case .awaitingLookup:
        cluster.areWorkersReadyAtOnce = false
        endWorker()
        cluster.advance(by: .milliseconds(100))
      case .lookingUp: break
      case .awaitingTransfer, .awaitingDecode, .transferring: cluster.answerLookups()
      case .decoding:
        cluster.answerLookups()
        cluster.transferred(url)
      }
      cluster.areWorkersReadyAtOnce = false
      #expect(state == After(stage, waiters: 2))
    }

    private var item: WorkItem? {
      cluster.scheduler.work.all.first { $0.url.text == url }
    }

    var state: After {
      let lease = item?.stage.lease
      let stage: Stage? =
        switch item?.stage {
        case nil: nil
        case .awaitingLookup: .awaitingLookup
        case .lookingUp: .lookingUp
        // Behind other lines or not: without a viewer, it is that again.
        case .behindEarlierLines, .awaitingTransfer: .awaitingTransfer
        case .awaitingDecode: .awaitingDecode
        case .transferring: .transferring
        case .decoding: .decoding
        }
      return After(
        stage, waiters: item?.waiters.count ?? 0,
        isAborted: lease.map(cluster.cancelledLeases.contains) ?? false)
    }

    private func endWorker() {
      for worker in cluster.workers.keys { cluster.exit(worker, .crashed("SIGSEGV")) }
    }

    func happen(_ event: Event) {
      switch event {
      case .waiterJoins: cluster.view(url)
      case .waiterLeaves: cluster.leave(viewer)
      case .lastLeaves:
        cluster.leave(viewer)
        cluster.change(job, .cancel)
      case .workerAnswers: answer()
      case .workerDies: endWorker()
      case .jobPaused: cluster.change(job, .pause)
      case .jobCancelled: cluster.change(job, .cancel)
      case .drain: cluster.handle(.drainRequested)
      }
    }

    /// The answer that lets the item go on.
    private func answer() {
      switch item?.stage {
      case nil: break
      case .awaitingLookup: readyWorkers()
      case .lookingUp: cluster.answerLookups()
      case .behindEarlierLines, .awaitingTransfer, .awaitingDecode: cluster.finish(blocker)
      case .transferring: cluster.transferred(url)
      case .decoding: cluster.finish(url)
      }
    }

    private func readyWorkers() {
      for worker in cluster.workers.keys.sorted() { cluster.ready(worker) }
    }

    /// After any event, each request that still waits gets its result.
    func advance(after event: Event) {
      cluster.areWorkersReadyAtOnce = true
      readyWorkers()
      cluster.advance(by: .seconds(5))
      cluster.finishEverything()
      let hasLeft = event == .waiterLeaves || event == .lastLeaves
      #expect((cluster.answers[viewer] == nil) == hasLeft)
      switch event {
      case .lastLeaves, .jobCancelled: #expect(cluster.endedJobs[job]?.state == .cancelled)
      case .jobPaused: #expect(cluster.status(job)?.state != .running)
      case .drain: #expect(cluster.drainedCount == 1)
      default: #expect(cluster.endedJobs[job]?.counts.done == 1)
      }
      if event != .drain { #expect(cluster.scheduler.isIdle) }
      #expect(cluster.scheduler.leases.isEmpty)
    }
  }
}
