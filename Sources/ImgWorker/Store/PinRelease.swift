import ImgModel
import ImgStore

/// Removes the pins of jobs in small batches with pauses between them, so that the other writers of all
/// processes are hardly delayed.
struct PinRelease {
  /// The jobs whose pins are still to be removed.
  private var jobs: [JobID] = []
  /// Where the pins of the first job are looked for next.
  private var sequence: UInt64 = 0
  /// When the next batch is due; `nil` while there is nothing to do.
  private(set) var nextBatch: ContinuousClock.Instant?

  private static let pause = Duration.milliseconds(20)

  /// Adds jobs to those whose pins are removed.
  mutating func begin(of jobs: [JobID]) {
    self.jobs += jobs.filter { !self.jobs.contains($0) }
    guard !self.jobs.isEmpty else { return }
    nextBatch = nextBatch ?? .now
  }

  /// Removes a batch.
  ///
  /// - Returns: whether it was the last one.
  mutating func removeBatchIfDue(
    from store: SharedStore, at now: ContinuousClock.Instant
  ) -> Bool {
    guard let nextBatch, nextBatch <= now else { return false }
    // The coordinator asks again for what cannot be removed now.
    sequence = (try? removeBatch(from: store)) ?? 0
    if sequence == 0 { jobs.removeFirst() }
    self.nextBatch = jobs.isEmpty ? nil : .now + Self.pause
    return jobs.isEmpty
  }

  /// - Returns: 0 after the last batch of the first job.
  private func removeBatch(from store: SharedStore) throws(StoreError) -> UInt64 {
    try store.change { store throws(StoreError) in
      try store.unpinPart(of: jobs[0], from: sequence) ?? 0
    }
  }
}
