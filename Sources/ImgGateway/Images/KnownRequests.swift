import ImgClient
import ImgCollections
import Synchronization

/// What requests for hits asked for, so that a repeated one is not read again.
final class KnownRequests: Sendable {
  /// What decides what a request asks for, as the client sent it.
  struct Key: Hashable {
    let target: String
    /// The field `Accept`.
    let accept: String?
  }

  /// A request that was read, and the load in the format for its client.
  final class Value: Sendable {
    let query: ImageQuery
    let wanted: ImageRequest
    /// What was answered last.
    let answer: TimedAnswer

    init(query: ImageQuery, wanted: ImageRequest, answer: TimedAnswer) {
      self.query = query
      self.wanted = wanted
      self.answer = answer
    }
  }

  /// The size of all requests and answers together in bytes.
  private static let capacity = 24 << 20
  /// What an entry needs beside its target and a body, about.
  private static let overhead = 2_560
  /// The bytes of a body that a kept answer may have. A larger answer takes longer to send than to make again, and
  /// would push out many others.
  static let maximumBodyByteCount = 64 << 10

  private let values = Mutex(LeastRecentlyUsed<Key, Value>())

  /// - Returns: `nil` for a request that was not read before.
  func value(of key: Key) -> Value? {
    values.withLock { $0.use(key) }
  }

  /// Keeps a request, and what was answered last.
  func insert(_ value: Value, as key: Key) {
    // The URL in the target is there twice: as sent, and as read.
    let cost =
      2 * key.target.utf8.count + (key.accept?.utf8.count ?? 0) + value.answer.byteCount
      + Self.overhead
    values.withLock { values in
      values.insert(value, as: key, cost: cost)
      values.trim(toCost: Self.capacity)
    }
  }
}
