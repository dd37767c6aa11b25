import CLMDB
import Glibc

/// A few read-only transactions that are kept, and renewed for each read. To begin one instead
/// costs memory and a search through the table of readers under a lock of all processes
/// (`mdb_txn_renew0` in LMDB's source).
///
/// Each keeps its slot in that table, of which there are 512 for all processes, so there are few;
/// one is begun when a thread first finds its place empty. While it is not in use it pins nothing.
///
/// Sendable is unchecked because of the pointers. Those to places are constant for the life of the
/// object, and what lies in a place is reached only by the thread that holds its lock.
@safe
final class SnapshotPool: @unchecked Sendable {
  /// Also the number of threads of one process that read in this way at once.
  static let placeCount = 8

  @safe
  private struct Place {
    var lock = unsafe pthread_mutex_t()
    /// Reset, so that it can be renewed.
    var transaction: OpaquePointer?
  }

  private let environment: OpaquePointer
  private let places: UnsafeMutableRawPointer

  /// A place lies in a cache line of its own, so that threads do not slow each other down.
  private static let lineByteCount = 64

  /// - Parameter environment: outlives the last use of this object.
  init(environment: OpaquePointer) {
    unsafe self.environment = environment
    precondition(MemoryLayout<Place>.size <= Self.lineByteCount)
    unsafe places = .allocate(
      byteCount: Self.placeCount * Self.lineByteCount, alignment: Self.lineByteCount)
    for index in 0..<Self.placeCount {
      let place = unsafe (places + index * Self.lineByteCount)
        .initializeMemory(as: Place.self, to: Place())
      unsafe pthread_mutex_init(&place.pointee.lock, nil)
    }
  }

  deinit {
    unsafe places.deallocate()
  }

  /// Gives up the transactions.
  ///
  /// - Precondition: nobody uses this object any more; its environment is still open.
  func close() {
    for index in 0..<Self.placeCount {
      let place = unsafe place(index)
      unsafe mdb_txn_abort(place.pointee.transaction)
      unsafe place.pointee.transaction = nil
      unsafe pthread_mutex_destroy(&place.pointee.lock)
    }
  }

  /// Runs `body` on the newest snapshot.
  ///
  /// - Returns: `nil` when `body` did not run, because every place is in use or LMDB gives no
  ///   snapshot.
  func withSnapshot<Result>(
    _ body: (borrowing Transaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    guard let place = unsafe lockedPlace() else { return nil }
    defer { unsafe pthread_mutex_unlock(&place.pointee.lock) }
    let transaction: Transaction
    do throws(StoreError) {
      transaction = try unsafe self.transaction(takenFrom: place)
    } catch {
      return nil
    }
    // When it throws, the transaction is aborted, and the place stays empty.
    let result = try body(transaction)
    unsafe place.pointee.transaction = transaction.reset()
    return result
  }

  /// Runs `body` while nobody has a snapshot of this pool, and none is taken.
  func whileIdle(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    for index in 0..<Self.placeCount {
      unsafe pthread_mutex_lock(&place(index).pointee.lock)
    }
    defer {
      for index in 0..<Self.placeCount {
        unsafe pthread_mutex_unlock(&place(index).pointee.lock)
      }
    }
    try body()
  }

  private func transaction(
    takenFrom place: UnsafeMutablePointer<Place>
  ) throws(StoreError) -> Transaction {
    guard let kept = unsafe place.pointee.transaction else {
      return try unsafe Transaction(environment: environment, isReadOnly: true)
    }
    unsafe place.pointee.transaction = nil
    do throws(StoreError) {
      return try unsafe Transaction(renewing: kept)
    } catch {
      unsafe mdb_txn_abort(kept)
      throw error
    }
  }

  /// Takes a place that nobody uses, without waiting; the same thread mostly gets the same.
  private func lockedPlace() -> UnsafeMutablePointer<Place>? {
    // Fibonacci hashing: what tells threads apart lies in the middle of their numbers.
    let first = Int(truncatingIfNeeded: (UInt64(pthread_self()) &* 0x9E37_79B9_7F4A_7C15) >> 32)
    for step in 0..<Self.placeCount {
      let place = unsafe place((first &+ step) & (Self.placeCount - 1))
      if unsafe pthread_mutex_trylock(&place.pointee.lock) == 0 { return unsafe place }
    }
    return nil
  }

  private func place(_ index: Int) -> UnsafeMutablePointer<Place> {
    unsafe (places + index * Self.lineByteCount).assumingMemoryBound(to: Place.self)
  }
}
