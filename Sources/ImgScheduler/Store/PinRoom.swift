import ImgModel

/// Whether the store has room for further pinned thumbnails, as the refusals and the reports of workers tell.
///
/// After a refusal, jobs go on once a report says that there is room. If they are refused again and nothing was
/// pinned meanwhile, what they need is larger than that room. From then on there is room only when less is
/// pinned, or the store has grown: a picture is not fetched again and again in vain.
struct PinRoom {
  private enum State {
    /// No worker has reported since the start. What was pinned before may use up the store.
    case unknown
    /// The report since which there is room, and whether a thumbnail was refused before and nothing was
    /// pinned since.
    case there(StoreReport, afterRefusal: Bool)
    /// What is pinned leaves too little.
    case usedUp
    /// A thumbnail was refused; again, if there was room by a report after an earlier refusal.
    case refused(again: StoreReport?)
    /// A thumbnail was refused again where this much was pinned.
    case refusedAt(StoreReport)
  }

  private var state = State.unknown

  var isThere: Bool { if case .there = state { true } else { false } }
  var isKnown: Bool { if case .unknown = state { false } else { true } }

  mutating func noteRefusal() {
    switch state {
    case .refused, .refusedAt: break
    case .there(let report, afterRefusal: true): state = .refused(again: report)
    case .there, .unknown, .usedUp: state = .refused(again: nil)
    }
  }

  mutating func update(_ report: StoreReport) {
    switch state {
    case .unknown, .usedUp:
      state = report.hasRoomForPins ? .there(report, afterRefusal: false) : .usedUp
    case .there(let first, let afterRefusal):
      if report.pinnedByteCount >= StoreReport.pinLimit(of: report.effectiveByteCount) {
        state = .usedUp
      } else if afterRefusal, report.pinnedByteCount != first.pinnedByteCount {
        state = .there(report, afterRefusal: false)
      }
    case .refused(again: nil):
      if report.hasRoomForPins { state = .there(report, afterRefusal: true) }
    case .refused(again: let earlier?):
      state = .refusedAt(report.pinnedByteCount > earlier.pinnedByteCount ? report : earlier)
    case .refusedAt(let first):
      let isMore =
        report.pinnedByteCount < first.pinnedByteCount
        || report.effectiveByteCount > first.effectiveByteCount
      if isMore, report.hasRoomForPins { state = .there(report, afterRefusal: true) }
    }
  }
}
