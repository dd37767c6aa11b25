import ImgModel
import ImgStore
import ImgSystem

/// The removal of all that has expired, in small batches with pauses between them, so that other
/// writers of all processes hardly notice.
///
/// What others remove at the same time is not there any more; two sweeps share the work.
struct ExpirySweep {
  /// What has expired at this moment is to go; `nil` when nothing is to be done.
  private var moment: WallTime?
  /// When the next batch is due; `nil` when nothing is to be done.
  private(set) var nextBatch: ContinuousClock.Instant?

  /// So at most five batches a second, of some milliseconds each.
  private static let pause = Duration.milliseconds(200)

  /// Begins to remove what has expired at `moment`, or goes on with that as well.
  mutating func begin(at moment: WallTime) {
    self.moment = max(self.moment ?? moment, moment)
    nextBatch = nextBatch ?? .now
  }

  /// Removes a batch. When there is nothing to remove it costs a look-up, and no other writer waits.
  mutating func removeBatchIfDue(from store: SharedStore, at now: ContinuousClock.Instant) {
    guard let moment, let nextBatch, nextBatch <= now else { return }
    // A store that cannot be changed now, for want of room or whatever, is swept another time.
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
