import ImgModel
import ImgStore
import ImgSystem

/// Removes what has expired in small batches with pauses between them, so that the other writers of
/// all processes are hardly delayed. Two sweeps at the same time share the work.
struct ExpirySweep {
  /// What has expired at this moment is removed; `nil` while there is nothing to do.
  private var moment: WallTime?
  /// When the next batch is due; `nil` while there is nothing to do.
  private(set) var nextBatch: ContinuousClock.Instant?

  /// So at most five batches a second, of some milliseconds each.
  private static let pause = Duration.milliseconds(200)

  /// Starts to remove what has expired at `moment`, or adds that to the sweep under way.
  mutating func begin(at moment: WallTime) {
    self.moment = max(self.moment ?? moment, moment)
    nextBatch = nextBatch ?? .now
  }

  /// Removes a batch. If there is nothing to remove it costs a look-up and takes no lock.
  mutating func removeBatchIfDue(from store: SharedStore, at now: ContinuousClock.Instant) {
    guard let moment, let nextBatch, nextBatch <= now else { return }
    // A store that cannot be changed now is swept another time.
    if (try? removeBatch(from: store, expiredAt: moment)) ?? false {
      self.nextBatch = .now + Self.pause
    } else {
      self = ExpirySweep()
    }
  }

  /// - Returns: whether more may be left.
  private func removeBatch(
    from store: SharedStore, expiredAt moment: WallTime
  ) throws(StoreError) -> Bool {
    guard try store.current().hasExpired(at: moment) else { return false }
    let limit = ThumbnailStore.expiredBatchCount
    return try store.change { store throws(StoreError) in
      try store.removeExpired(at: moment, limit: limit)
    } == limit
  }
}
