/// How many fetches a worker has at once: transfers under way, and bodies that wait for its decoder.
///
/// A body that waits longer than the decoder needs gains nothing, and is fetched again when the
/// worker dies. So the window follows the standing queue, which is the shortest queue in
/// front of the decoder during one turn of the window (Nichols and Jacobson, "Controlling Queue
/// Delay", 2012). A queue that never empties shortens the window by its excess; bursts do not count.
/// A queue that runs dry doubles the window, up to its maximum.
struct FetchWindow {
  /// `nil` while the window is as large as it may be.
  private var size: Int?
  private var shortestQueue = Int.max
  /// Results until the turn is over: as many as the worker had fetches when it began.
  private var remainingCount = 0
  /// Whether nothing has ended yet, so that the speed of the decoder is unknown.
  private(set) var isUntried = true

  /// - Parameter maximum: the worker's share of the transfers, and the queue target.
  func size(upTo maximum: Int) -> Int {
    min(size ?? maximum, maximum)
  }

  /// Fetches are about to end.
  ///
  /// - Parameters:
  ///   - heldCount: fetches that the worker has, these among them.
  ///   - queueCount: bodies that wait for the decoder now.
  ///   - queueTarget: bodies that should wait for it.
  mutating func end(
    _ count: Int, of heldCount: Int, queueCount: Int, queueTarget: Int, maximum: Int
  ) {
    isUntried = false
    shortestQueue = min(shortestQueue, queueCount)
    remainingCount -= count
    guard remainingCount <= 0 else { return }
    let size = size(upTo: maximum)
    if shortestQueue < max(queueTarget / 4, 1) {
      self.size = size * 2 < maximum ? size * 2 : nil
    } else if shortestQueue > queueTarget {
      self.size = max(min(size, heldCount) - (shortestQueue - queueTarget), queueTarget)
    }
    shortestQueue = .max
    remainingCount = heldCount
  }
}
