package import ImgModel

/// Which transfers are slow. The coordinator gives their slots to others.
extension WorkerMachine {
  /// The transfers that hold slots.
  package var transfersWithSlots: [TransferID] { transfers.withSlots }

  /// When the driver measures ``transfersWithSlots``; `nil` while there are none.
  package var measureDeadline: ContinuousClock.Instant? {
    transfers.hasSlots ? nextMeasure ?? now.instant : nil
  }

  mutating func updatePaces(_ measures: [TransferID: TransferMeasure]) {
    nextMeasure = now.instant + TransferPace.measureInterval
    let nothing = TransferMeasure(receivedByteCount: 0, isHeldUp: false)
    for id in transfers.withSlots {
      switch transfers.updatePace(of: id, measures[id] ?? nothing, at: now.instant) {
      case true?: report.slow.append(id)
      case false?: report.fast.append(id)
      case nil: break
      }
    }
  }
}
