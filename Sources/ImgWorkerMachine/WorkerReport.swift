import ImgModel
import ImgWire

/// What one turn of the worker's loop has to tell the coordinator: one message of each kind, however
/// many leases ended.
struct WorkerReport {
  var extraRequests: [String] = []
  var robotsKnown: [LeaseID] = []
  var slow: [TransferID] = []
  var fast: [TransferID] = []
  var redirections: [Redirections.Redirection] = []
  var progress: [ProgressReport.Entry] = []
  var transferred: [LeaseID] = []
  var released: [LeaseID] = []
  var unpinned: [LeaseID] = []
  var finished: [FetchResults.Result] = []

  var isEmpty: Bool {
    saysNothingOfTransfers && saysNothingOfEndedTransfers && finished.isEmpty
  }

  /// Whether it says only what may wait a little: results that no client waits for.
  var mayWait: Bool {
    saysNothingOfTransfers && saysNothingOfEndedTransfers && !hasUrgentResult
      && finished.count < Self.resultsPerFrame
  }

  private var saysNothingOfTransfers: Bool {
    extraRequests.isEmpty && robotsKnown.isEmpty && slow.isEmpty && fast.isEmpty
      && redirections.isEmpty && progress.isEmpty
  }

  private var saysNothingOfEndedTransfers: Bool {
    transferred.isEmpty && released.isEmpty && unpinned.isEmpty
  }

  /// Whether a client waits for one of the results.
  var hasUrgentResult = false

  /// A result takes at most about 3 KiB of JSON.
  private static let resultsPerFrame = 256

  /// The messages of the turn. The report is empty afterwards.
  ///
  /// - Parameter updates: what the transfers signalled of hosts. It is sent first, so that the
  ///   coordinator knows it when it gives out the slots that the other messages free.
  mutating func take(
    adding updates: HostUpdates, decodeQueueCount: Int
  ) -> [WorkerMachine.Effect] {
    var effects: [WorkerMachine.Effect] = []
    var updates = updates
    updates.extraRequests = extraRequests + updates.extraRequests
    updates.robotsKnown += robotsKnown
    updates.slow += slow
    updates.fast += fast
    if !updates.isEmpty { effects.append(.send(.hostUpdates(updates))) }
    if !redirections.isEmpty {
      effects.append(.send(.redirected(Redirections(redirections: redirections))))
    }
    if !progress.isEmpty { effects.append(.send(.progress(ProgressReport(entries: progress)))) }
    if !transferred.isEmpty { effects.append(.send(.transferred(LeaseList(leases: transferred)))) }
    effects.append(.sendUncached)
    if !released.isEmpty { effects.append(.send(.released(LeaseList(leases: released)))) }
    if !unpinned.isEmpty { effects.append(.send(.unpinned(LeaseList(leases: unpinned)))) }
    // Many may fail at once, each with a long sentence: in parts that fit a frame.
    for start in stride(from: 0, to: finished.count, by: Self.resultsPerFrame) {
      let part = Array(finished[start...].prefix(Self.resultsPerFrame))
      effects.append(
        .send(.finished(FetchResults(results: part, decodeQueueCount: decodeQueueCount))))
    }
    self = WorkerReport()
    return effects
  }
}
