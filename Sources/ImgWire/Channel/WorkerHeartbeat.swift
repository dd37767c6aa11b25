package import ImgModel
package import ImgSystem

/// A page of memory that a worker and its coordinator share: what the worker does at this moment. The
/// coordinator can read it when the worker hangs, is stopped or has died. A message would wait in a
/// buffer of the process that hangs.
package struct WorkerHeartbeat: Sendable {
  private enum Word: Int, CaseIterable {
    /// When the loop last ran, in nanoseconds of the monotonic clock.
    case heartbeat
    /// The lease whose local file, or original in the store, is being read; 0 for none.
    case readingLease
    /// When that read began, in nanoseconds of the monotonic clock.
    case readingSince
    /// The lease of the transfer that the loop works on; 0 for none.
    case transferringLease
    /// 1 when a thread has crashed in a call of the store; 0 before.
    case storeCrash
  }

  private let words: SharedWords

  /// A new page, on which the loop has just run.
  package init() throws(SystemError) {
    words = try SharedWords(count: Word.allCases.count)
    beat()
  }

  /// The page that the coordinator passed on.
  package init(adopting descriptor: consuming OwnedDescriptor) throws(SystemError) {
    words = try SharedWords(adopting: descriptor, count: Word.allCases.count)
  }

  package var descriptor: CInt { words.descriptor }

  // MARK: - The worker's side

  /// The loop runs.
  package func beat() {
    words.store(MonotonicClock.nanoseconds(), at: Word.heartbeat.rawValue)
  }

  /// Records a crash in a call of the store here. The page lives as long as the process.
  package func recordStoreCrashes() {
    CrashRegion.record(in: words, at: Word.storeCrash.rawValue)
  }

  /// Marks the lease whose picture is being read while `body` runs. A read of a file may hang for
  /// ever, for example on a network file system whose server is gone.
  package func withReading<Result, Reason: Error>(
    of lease: LeaseID, _ body: () throws(Reason) -> Result
  ) throws(Reason) -> Result {
    words.store(MonotonicClock.nanoseconds(), at: Word.readingSince.rawValue)
    words.store(lease.rawValue, at: Word.readingLease.rawValue)
    defer { words.store(0, at: Word.readingLease.rawValue) }
    return try body()
  }

  /// Marks the transfer that the loop works on, named by the lease that began it; `nil` for
  /// none.
  package func markTransfer(_ lease: LeaseID?) {
    words.store(lease?.rawValue ?? 0, at: Word.transferringLease.rawValue)
  }

  // MARK: - The coordinator's side

  /// How long ago the worker's loop last ran.
  package var age: Duration {
    age(of: .heartbeat)
  }

  /// The lease whose picture is being read, and for how long.
  package var reading: (lease: LeaseID, time: Duration)? {
    let lease = words.load(Word.readingLease.rawValue)
    guard lease != 0 else { return nil }
    return (LeaseID(rawValue: lease), age(of: .readingSince))
  }

  /// The lease of the transfer that the loop works on, or worked on when the process died.
  package var transferringLease: LeaseID? {
    let lease = words.load(Word.transferringLease.rawValue)
    return lease == 0 ? nil : LeaseID(rawValue: lease)
  }

  /// Whether the thread that crashed was in a call of the store.
  package var hasCrashedInStore: Bool { words.load(Word.storeCrash.rawValue) != 0 }

  private func age(of word: Word) -> Duration {
    let then = words.load(word.rawValue)
    let now = MonotonicClock.nanoseconds()
    return .nanoseconds(now > then ? now - then : 0)
  }
}
