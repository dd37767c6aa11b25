import CLMDB
import Glibc

/// A pool of read-only transactions, which are renewed for each read. Beginning a new one would
/// cost an allocation and a search in the reader table under a lock of all processes
/// (`mdb_txn_renew0` in LMDB's source).
///
/// Each transaction keeps a reader slot. There are 512 of them for all processes, so the pool is
/// small. A transaction begins when a thread first finds a pool slot empty. An unused one pins no
/// pages.
///
/// Sendable is unchecked because of the pointers. They are constant for the life of the object, and
/// only the thread that holds the lock of a slot uses its content.
@safe
final class SnapshotPool: @unchecked Sendable {
  /// The maximum number of threads of one process that use the pool at the same time.
  static let slotCount = 8

  @safe
  private struct Slot {
    var lock = unsafe pthread_mutex_t()
    /// Reset, so that it can be renewed.
    var transaction: OpaquePointer?
  }

  private let environment: OpaquePointer
  private let slots: UnsafeMutableRawPointer

  /// Each slot has its own cache line, so that threads do not slow each other down.
  private static let lineByteCount = 64

  /// - Parameter environment: must stay open longer than this object is used.
  init(environment: OpaquePointer) {
    unsafe self.environment = environment
    precondition(MemoryLayout<Slot>.size <= Self.lineByteCount)
    unsafe slots = .allocate(
      byteCount: Self.slotCount * Self.lineByteCount, alignment: Self.lineByteCount)
    for index in 0..<Self.slotCount {
      let slot = unsafe (slots + index * Self.lineByteCount)
        .initializeMemory(as: Slot.self, to: Slot())
      unsafe pthread_mutex_init(&slot.pointee.lock, nil)
    }
  }

  deinit {
    unsafe slots.deallocate()
  }

  /// Aborts the transactions.
  ///
  /// - Precondition: no thread uses this object any more, and its environment is still open.
  func close() {
    for index in 0..<Self.slotCount {
      let slot = unsafe slot(index)
      unsafe mdb_txn_abort(slot.pointee.transaction)
      unsafe slot.pointee.transaction = nil
      unsafe pthread_mutex_destroy(&slot.pointee.lock)
    }
  }

  /// Runs `body` on the newest snapshot.
  ///
  /// - Returns: `nil` if `body` did not run, because every slot is in use or LMDB returned no
  ///   snapshot.
  func withSnapshot<Result>(
    _ body: (borrowing Transaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    guard let slot = unsafe lockedSlot() else { return nil }
    defer { unsafe pthread_mutex_unlock(&slot.pointee.lock) }
    let transaction: Transaction
    do throws(StoreError) {
      transaction = try unsafe self.transaction(takenFrom: slot)
    } catch {
      return nil
    }
    // If it throws, the transaction is aborted, and the slot stays empty.
    let result = try body(transaction)
    unsafe slot.pointee.transaction = transaction.reset()
    return result
  }

  /// Runs `body` while no thread has a snapshot of this pool.
  func whileIdle(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    for index in 0..<Self.slotCount {
      unsafe pthread_mutex_lock(&slot(index).pointee.lock)
    }
    defer {
      for index in 0..<Self.slotCount {
        unsafe pthread_mutex_unlock(&slot(index).pointee.lock)
      }
    }
    try body()
  }

  private func transaction(
    takenFrom slot: UnsafeMutablePointer<Slot>
  ) throws(StoreError) -> Transaction {
    guard let kept = unsafe slot.pointee.transaction else {
      return try unsafe Transaction(environment: environment, isReadOnly: true)
    }
    unsafe slot.pointee.transaction = nil
    do throws(StoreError) {
      return try unsafe Transaction(renewing: kept)
    } catch {
      unsafe mdb_txn_abort(kept)
      throw error
    }
  }

  /// Locks an unused slot without waiting. A thread usually gets the same one.
  private func lockedSlot() -> UnsafeMutablePointer<Slot>? {
    // Fibonacci hashing, because the middle bits of thread numbers differ.
    let first = Int(truncatingIfNeeded: (UInt64(pthread_self()) &* 0x9E37_79B9_7F4A_7C15) >> 32)
    for step in 0..<Self.slotCount {
      let slot = unsafe slot((first &+ step) & (Self.slotCount - 1))
      if unsafe pthread_mutex_trylock(&slot.pointee.lock) == 0 { return unsafe slot }
    }
    return nil
  }

  private func slot(_ index: Int) -> UnsafeMutablePointer<Slot> {
    unsafe (slots + index * Self.lineByteCount).assumingMemoryBound(to: Slot.self)
  }
}
