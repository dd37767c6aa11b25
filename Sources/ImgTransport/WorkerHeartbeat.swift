package import ImgModel
package import ImgSystem

/// A page of memory that a worker and its coordinator share: what the worker does at this moment. The
/// coordinator can read it when the worker hangs, is stopped or has died. A message would wait in a
/// buffer of the process that hangs.
package struct WorkerHeartbeat: Sendable {
  private enum Word: Int, CaseIterable {
    /// When the loop last ran, in nanoseconds of the monotonic clock.
    case heartbeat
    /// The lease whose picture is being decoded; 0 for none.
    case decodingLease
    /// When that decode began, in nanoseconds of the monotonic clock.
    case decodingSince
    /// The lease of the transfer that the loop works on; 0 for none.
    case transferringLease
    /// 1 when a thread has crashed in a call of the store; 0 before.
    case storeCrash
    /// Bytes of the last allocation that was refused since the decode began; 0 for none.
    case refusedAllocation
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

  /// Has allocations that are refused recorded here. The page lives as long as the process.
  ///
  /// - Parameter record: is given the address of a 64-bit word.
  package func recordRefusedAllocations(by record: (UInt) -> Void) {
    record(words.address(of: Word.refusedAllocation.rawValue))
  }

  /// Marks the picture that is being decoded while `body` runs. If the process dies meanwhile, the
  /// mark stays.
  package func withDecoding<Result>(of lease: LeaseID, _ body: () -> Result) -> Result {
    words.store(MonotonicClock.nanoseconds(), at: Word.decodingSince.rawValue)
    words.store(0, at: Word.refusedAllocation.rawValue)
    words.store(lease.rawValue, at: Word.decodingLease.rawValue)
    defer { words.store(0, at: Word.decodingLease.rawValue) }
    return body()
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

  /// The lease whose picture is being decoded, and for how long.
  package var decoding: (lease: LeaseID, time: Duration)? {
    let lease = words.load(Word.decodingLease.rawValue)
    guard lease != 0 else { return nil }
    return (LeaseID(rawValue: lease), age(of: .decodingSince))
  }

  /// The lease of the transfer that the loop works on, or worked on when the process died.
  package var transferringLease: LeaseID? {
    let lease = words.load(Word.transferringLease.rawValue)
    return lease == 0 ? nil : LeaseID(rawValue: lease)
  }

  /// Whether the thread that crashed was in a call of the store, and so not in a decoder.
  package var hasCrashedInStore: Bool { words.load(Word.storeCrash.rawValue) != 0 }

  /// Whether an allocation that a picture may need was refused since the last decode began.
  package func hasRefusedAllocation(within limits: Limits) -> Bool {
    let byteCount = words.load(Word.refusedAllocation.rawValue)
    return byteCount != 0 && byteCount <= limits.largestAllocationByteCount
  }

  private func age(of word: Word) -> Duration {
    let then = words.load(word.rawValue)
    let now = MonotonicClock.nanoseconds()
    return .nanoseconds(now > then ? now - then : 0)
  }
}
