import Glibc

/// Keeps the map of an environment in its place: transactions share the lock, and a change of the
/// map holds it exclusively.
///
/// Sendable is unchecked because of the pointer. It is constant for the life of the object, and
/// pthreads allow any thread to use the lock behind it.
@safe
final class MapLock: @unchecked Sendable {
  private let lock: UnsafeMutablePointer<pthread_rwlock_t>

  init() {
    unsafe lock = .allocate(capacity: 1)
    unsafe lock.initialize(to: pthread_rwlock_t())
    unsafe pthread_rwlock_init(lock, nil)
  }

  deinit {
    unsafe pthread_rwlock_destroy(lock)
    unsafe lock.deallocate()
  }

  func shared<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    unsafe pthread_rwlock_rdlock(lock)
    defer { unsafe pthread_rwlock_unlock(lock) }
    return try body()
  }

  func exclusive(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    unsafe pthread_rwlock_wrlock(lock)
    defer { unsafe pthread_rwlock_unlock(lock) }
    try body()
  }
}
