import Dispatch
import Synchronization
import Testing

@testable import ImgStore

@Suite(.timeLimit(.minutes(20)))
struct MapLockTests {
  private let lock = MapLock()

  @Test func `the lock returns what the body returns, and throws what it throws`() throws {
    #expect(try lock.shared { 7 } == 7)
    let error = StoreError(.corrupted, operation: "a test")
    #expect(throws: StoreError.self) { try lock.shared { () throws(StoreError) in throw error } }
    #expect(throws: StoreError.self) { try lock.exclusive { () throws(StoreError) in throw error } }
    // A body that threw holds it no more.
    let hasRun = Mutex(false)
    try lock.exclusive { hasRun.withLock { $0 = true } }
    #expect(hasRun.withLock { $0 })
  }

  @Test func `transactions of two threads share it`() throws {
    let lock = lock
    let hasEntered = Atomic(false)
    let mayLeave = Atomic(false)
    let other = DispatchQueue(label: "other transaction")
    other.async {
      try? lock.shared {
        hasEntered.store(true, ordering: .sequentiallyConsistent)
        _ = eventually { mayLeave.load(ordering: .sequentiallyConsistent) }
      }
    }
    #expect(eventually { hasEntered.load(ordering: .sequentiallyConsistent) })
    #expect(try lock.shared { true })
    mayLeave.store(true, ordering: .sequentiallyConsistent)
    other.sync {}
  }

  @Test func `a change of the map excludes transactions, and the other way round`() {
    let lock = lock
    let state = Mutex(Traffic())
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for _ in 0..<500 {
        if thread == 0 {
          try? lock.exclusive { state.withLock { $0.change() } }
        } else {
          try? lock.shared {
            state.withLock { $0.transactionCount += 1 }
            state.withLock { $0.transactionCount -= 1 }
          }
        }
      }
    }
    let traffic = state.withLock { $0 }
    #expect(traffic.transactionCount == 0)
    #expect(traffic.changeCount == 500)
    #expect(traffic.conflictCount == 0)
  }

  /// What threads saw of each other.
  private struct Traffic {
    /// Transactions that run now.
    var transactionCount = 0
    var changeCount = 0
    /// Changes beside a transaction.
    var conflictCount = 0

    mutating func change() {
      changeCount += 1
      if transactionCount != 0 { conflictCount += 1 }
    }
  }
}
