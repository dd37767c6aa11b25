import ImgModel

/// Whether the store has room for further pinned thumbnails, as the refusals and the reports of workers tell.
///
/// The next thumbnail may be larger than what is left. So after a refusal there is room again only if less
/// is pinned than the first report after it says, or the store has grown: its picture is not fetched again and
/// again in vain.
struct PinRoom {
  private enum State {
    /// No worker has reported since the start. What was pinned before may use up the store.
    case unknown
    case there
    /// What is pinned leaves too little.
    case usedUp
    /// A thumbnail was refused.
    case refused
    /// A thumbnail was refused, and this report came first after it.
    case refusedAt(StoreReport)
  }

  private var state = State.unknown

  var isThere: Bool { if case .there = state { true } else { false } }
  var isKnown: Bool { if case .unknown = state { false } else { true } }

  mutating func noteRefusal() {
    if case .refusedAt = state { return }
    state = .refused
  }

  mutating func update(_ report: StoreReport) {
    switch state {
    case .refused:
      state = .refusedAt(report)
    case .refusedAt(let first):
      let isMore =
        report.pinnedByteCount < first.pinnedByteCount
        || report.effectiveByteCount > first.effectiveByteCount
      if isMore, report.hasRoomForPins { state = .there }
    case .unknown, .there, .usedUp:
      state = report.hasRoomForPins ? .there : .usedUp
    }
  }
}
