import ImgModel
import ImgWire

/// A drain: what runs is finished, and nothing else begins.
extension Scheduler {
  /// Viewers for whom nothing runs hear at once that nothing will.
  mutating func drain() {
    if phase == .working { phase = .draining }
    workers.stopRespawning()
    for viewer in viewers.ids {
      if case .waiting(_, let item) = viewers[viewer], work[item]?.stage.lease != nil { continue }
      viewerLeft(viewer)
      answerStopping(viewer)
    }
  }

  /// Once no lease is left and every outcome and every end of a job is durable, the workers may
  /// leave.
  mutating func reportDrainedWhenDone() {
    guard phase == .draining, leases.isEmpty, jobs.unrecordedCount == 0,
      !jobs.all.contains(where: \.isEnding)
    else { return }
    phase = .drained
    effects += workers.ids.map { .send(.drain, to: $0) }
    effects.append(.drained)
  }
}
