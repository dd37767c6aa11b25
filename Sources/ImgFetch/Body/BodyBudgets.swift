/// The two budgets of a pool: of the bodies in memory, and of those in files. A transfer is charged
/// to one of them or, while it waits for room in the other, to both.
///
/// A body waits for memory where bodies that are handed out hold most of it, because those are soon decoded.
/// Where transfers under way hold it, their origins decide when they end. The body goes on in a file then, so
/// that no origin holds up the pictures of another.
///
/// Two budgets cause no deadlock: bodies in files never wait for memory.
final class BodyBudgets {
  private let memory: BodyBudget
  private let files: BodyBudget

  init(memoryByteCount: Int, fileByteCount: Int) {
    memory = BodyBudget(byteCount: memoryByteCount)
    files = BodyBudget(byteCount: fileByteCount)
  }

  /// What all bodies in memory are charged together.
  var heldMemoryByteCount: Int { memory.heldByteCount }

  /// What all bodies in files are charged together.
  var heldFileByteCount: Int { files.heldByteCount }

  /// A transfer is under way; its body will be in memory.
  func begin(_ id: UInt64) {
    memory.begin(id)
  }

  /// A transfer is under way, and begins with a partial body.
  ///
  /// - Returns: `false` when there is no room for that now. The transfer is then charged nothing
  ///   and does not wait.
  func begin(_ id: UInt64, with charge: BodyCharge) -> Bool {
    memory.begin(id)
    guard grow(id, to: charge) else {
      end(id, isHandedOut: false)
      memory.begin(id)
      return false
    }
    if charge.isOfFile { leaveMemory(id) }
    return true
  }

  /// Charges a transfer whose body is about to grow.
  ///
  /// - Returns: `false` when it has to wait until ``nextToResume()`` names it.
  func grow(_ id: UInt64, to charge: BodyCharge) -> Bool {
    guard charge.isOfFile else {
      // It may have waited for both.
      files.end(id, isHandedOut: false)
      return memory.grow(id, to: charge.byteCount)
    }
    files.begin(id)
    return files.grow(id, to: charge.byteCount)
  }

  /// Whether a body that memory has no room for goes on in a file, and does not wait.
  var prefersFiles: Bool { memory.isMostlyUnderWay }

  /// The body is in a file now, and takes no memory.
  func leaveMemory(_ id: UInt64) {
    memory.end(id, isHandedOut: false)
  }

  /// The body stays in memory, because no file can be made.
  func leaveFiles(_ id: UInt64) {
    files.end(id, isHandedOut: false)
  }

  /// The transfer is no longer under way.
  ///
  /// - Parameter isHandedOut: whether its body lives on until ``release(_:)``.
  func end(_ id: UInt64, isHandedOut: Bool) {
    memory.end(id, isHandedOut: isHandedOut)
    files.end(id, isHandedOut: isHandedOut)
  }

  /// A body that was handed out is freed.
  func release(_ charge: BodyCharge) {
    (charge.isOfFile ? files : memory).release(byteCount: charge.byteCount)
  }

  /// Whether a transfer waits for room.
  func isWaiting(_ id: UInt64) -> Bool { memory.isWaiting(id) || files.isWaiting(id) }

  /// A transfer that no longer has to wait, the oldest of its budget.
  func nextToResume() -> UInt64? {
    memory.nextToResume() ?? files.nextToResume()
  }
}
