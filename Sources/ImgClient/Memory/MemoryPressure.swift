import ImgSystem
import Synchronization

/// Whether the machine, or the control group of this process, has little memory left.
final class MemoryPressure: Sendable {
  private let read: @Sendable () -> [AvailableMemory]
  private let last: Mutex<(isHigh: Bool, at: ContinuousClock.Instant)?>

  /// How long an answer holds: the question costs some 50 µs.
  private static let interval = Duration.seconds(1)
  /// Less than one part in so many is little.
  private static let divisor = 20

  /// - Parameter read: each limit of memory that is known.
  init(read: @escaping @Sendable () -> [AvailableMemory] = { AvailableMemory.now }) {
    self.read = read
    last = Mutex(nil)
  }

  func isHigh(at now: ContinuousClock.Instant = .now) -> Bool {
    last.withLock { last in
      if let last, last.at + Self.interval > now { return last.isHigh }
      let isHigh = read().contains { $0.availableByteCount < $0.totalByteCount / Self.divisor }
      last = (isHigh, now)
      return isHigh
    }
  }
}
