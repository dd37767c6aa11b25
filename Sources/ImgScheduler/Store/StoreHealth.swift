import ImgModel

/// Whether the store takes thumbnails, as the workers' results tell, and whether it is damaged, as
/// their crashes tell. Each put is a new attempt, so the first success of any worker ends the error.
struct StoreHealth {
  private(set) var error: StoreErrorStatus?
  /// What a worker told last of its size; `nil` before.
  private(set) var report: StoreReport?
  /// How often a worker has told it.
  private(set) var reportCount = 0
  private var crashes = StoreCrashes()

  /// A worker tells the size of the store.
  mutating func note(_ report: StoreReport) {
    self.report = report
    reportCount += 1
  }

  /// The store has refused a thumbnail.
  ///
  /// - Parameter isServed: whether a viewer has got it nevertheless.
  /// - Returns: the error, if it begins with this.
  mutating func noteRefusal(
    _ reason: String, isServed: Bool, at now: WallTime
  ) -> StoreErrorStatus? {
    let isNew = error == nil
    var current = error ?? StoreErrorStatus(reason: reason, since: now)
    current.reason = reason
    if isServed { current.servedCount += 1 }
    error = current
    return isNew ? current : nil
  }

  /// The store has taken a thumbnail.
  ///
  /// - Returns: the error, if it ends with this.
  mutating func noteStored() -> StoreErrorStatus? { error.take() }

  /// A worker has crashed in a call of the store.
  mutating func noteCrash(at now: ContinuousClock.Instant) -> StoreCrashes.Verdict {
    crashes.note(at: now)
  }
}
