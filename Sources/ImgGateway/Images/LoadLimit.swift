import Synchronization

/// How many loads may be under way at the same time. Further requests are refused, not queued: their clients
/// are told to come back.
final class LoadLimit: Sendable {
  let maximum: Int
  private let current = Atomic<Int>(0)

  init(_ maximum: Int) {
    self.maximum = maximum
  }

  /// The loads that are under way.
  var count: Int { current.load(ordering: .relaxed) }

  /// Begins a load.
  ///
  /// - Returns: `false` if it may not begin. Otherwise ``end()`` follows.
  func begin() -> Bool {
    // Only the number itself is shared, so no order with other memory matters.
    if current.wrappingAdd(1, ordering: .relaxed).oldValue < maximum { return true }
    end()
    return false
  }

  func end() {
    current.wrappingSubtract(1, ordering: .relaxed)
  }
}
