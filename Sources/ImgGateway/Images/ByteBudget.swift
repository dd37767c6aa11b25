import Synchronization

/// How many bytes of thumbnails may be in memory, with those that are being sent. A client that reads slowly holds
/// its thumbnail for long, so what is sent needs a limit, too.
final class ByteBudget: Sendable {
  private let maximum: Int
  private let used = Atomic(0)

  init(_ maximum: Int) {
    self.maximum = maximum
  }

  /// - Returns: whether there is room. Then ``release(_:)`` follows.
  func take(_ byteCount: Int) -> Bool {
    guard used.add(byteCount, ordering: .relaxed).newValue <= maximum else {
      release(byteCount)
      return false
    }
    return true
  }

  func release(_ byteCount: Int) {
    used.subtract(byteCount, ordering: .relaxed)
  }
}
