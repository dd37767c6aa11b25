/// How much of a turn of the event loop each transfer may take.
///
/// libcurl reads a socket that stays readable up to a hundred times before it returns (`maxloops`
/// in its transfer.c), and hands over each chunk of a body (RFC 9112 section 7.1) by a call of its
/// own, however short the chunk is: an origin could make that a million calls. It reads chunk
/// extensions without any call. A transfer that has had its part of a turn is paused until the next
/// one. libcurl then joins the bytes that are left in its read buffer, so that even chunks of one
/// byte come as one piece.
final class LoopTurns {
  /// In the largest pieces that libcurl hands over (CURL_MAX_WRITE_SIZE, 16 KiB), 1 MiB.
  static let maximumCallCount = 64
  /// How much processor time libcurl may take for one socket until its transfer is paused. The wall
  /// clock would blame the origin for a busy machine. Copying a hundred full buffers takes two to
  /// three milliseconds.
  static let maximumWorkTime = Duration.milliseconds(5)
  /// A call that brings fewer bytes of a body is a small one.
  private static let minimumByteCount = 16

  /// What a transfer has had of the turn.
  private struct Part {
    var callCount = 0
    var smallCallCount = 0
  }

  private var parts: [UInt64: Part] = [:]
  /// Those paused until the next turn.
  private var waiting: Set<UInt64> = []

  var isAnyWaiting: Bool { !waiting.isEmpty }

  /// Counts one call that brings bytes of a body.
  ///
  /// - Returns: `false` when the transfer has had its part, and has to take them in the next turn.
  func permitsCall(of id: UInt64, byteCount: Int) -> Bool {
    guard parts[id, default: Part()].callCount < Self.maximumCallCount else { return false }
    parts[id, default: Part()].callCount += 1
    if byteCount < Self.minimumByteCount { parts[id, default: Part()].smallCallCount += 1 }
    return true
  }

  /// A transfer that has had its part is paused until ``begin()`` names it.
  ///
  /// - Returns: whether its part was wasted: on small calls by half, or without any call.
  func wait(_ id: UInt64) -> Bool {
    waiting.insert(id)
    let part = parts[id, default: Part()]
    return 2 * part.smallCallCount >= part.callCount
  }

  /// The next turn begins.
  ///
  /// - Returns: the transfers that no longer have to wait, the oldest first.
  func begin() -> [UInt64] {
    parts.removeAll(keepingCapacity: true)
    defer { waiting.removeAll(keepingCapacity: true) }
    return waiting.sorted()
  }

  /// The transfer is no longer under way.
  func end(_ id: UInt64) {
    parts[id] = nil
    waiting.remove(id)
  }
}
