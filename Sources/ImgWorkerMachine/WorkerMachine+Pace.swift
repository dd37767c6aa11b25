package import ImgModel

/// Which transfers are slow. The coordinator gives their slots to others.
extension WorkerMachine {
  /// The transfers that hold slots.
  package var transfersWithSlots: [TransferID] { transfers.withSlots }

  /// When the driver measures ``transfersWithSlots``; `nil` while there are none.
  package var measureDeadline: Instant? {
    transfers.hasSlots ? nextMeasure ?? now.instant : nil
  }

  mutating func updatePaces(_ measures: [TransferID: TransferMeasure]) {
    nextMeasure = now.instant + TransferPace.measureInterval
    let nothing = TransferMeasure(receivedByteCount: 0, isHeldUp: false)
    for id in transfers.withSlots {
      let measure = measures[id] ?? nothing
      let now = now.instant
      guard transfers.update(id, { $0.pace.update(measure, at: now) }) else { continue }
      if transfers[id].pace.isSlow { report.slow.append(id) } else { report.fast.append(id) }
    }
  }
}

/// How much of a transfer has arrived, as the driver measures it.
package struct TransferMeasure: Hashable, Sendable {
  /// Bytes of all its responses so far.
  package let receivedByteCount: Int
  /// Whether it waits for this machine, and not for its origin.
  package let isHeldUp: Bool

  package init(receivedByteCount: Int, isHeldUp: Bool) {
    self.receivedByteCount = receivedByteCount
    self.isHeldUp = isHeldUp
  }
}

/// Whether a transfer is slow: whether less than a rate has arrived in the last span of time.
///
/// The span is short, so that viewers wait for no longer than that. A host is not harmed by the verdict: it
/// costs its transfers something only where others need their slots.
struct TransferPace {
  /// Half a span lies between two measures, so that a verdict comes after one to one and a half.
  static let span = Duration.milliseconds(500)
  static let measureInterval = Duration.milliseconds(250)
  /// Bytes a second, averaged over a span. A picture of 100 KB takes 6 s at this rate.
  static let leastByteRate = 16_384

  private(set) var isSlow = false
  private var spanStart: Instant
  private var byteCountAtStart = 0

  /// - Parameter start: when it got its slots.
  init(from start: Instant) {
    spanStart = start
  }

  /// It has other slots from now on.
  mutating func restart(at now: Instant) {
    isSlow = false
    spanStart = now
  }

  /// - Returns: whether ``isSlow`` has changed.
  mutating func update(_ measure: TransferMeasure, at now: Instant) -> Bool {
    let elapsed = now - spanStart
    guard elapsed >= Self.span || measure.isHeldUp else { return false }
    let arrived = Double(measure.receivedByteCount - byteCountAtStart)
    let wasSlow = isSlow
    isSlow = !measure.isHeldUp && arrived < Double(Self.leastByteRate) * (elapsed / .seconds(1))
    spanStart = now
    byteCountAtStart = measure.receivedByteCount
    return isSlow != wasSlow
  }
}
