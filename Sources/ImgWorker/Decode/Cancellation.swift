import Synchronization

/// Tells other threads that a piece of work was cancelled. Once set, it stays.
final class Cancellation: Sendable {
  private let flag = Atomic(false)

  var isSet: Bool { flag.load(ordering: .relaxed) }

  func set() {
    flag.store(true, ordering: .relaxed)
  }
}
