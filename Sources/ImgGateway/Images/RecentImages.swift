import Dispatch
import ImgClient
import ImgHTTP
@_spi(Containers) import ImgModel
import Synchronization

/// The entries that were used last, within the share of memory that this process has.
final class RecentImages: MemoryUser {
  /// What an entry needs beside the bytes of its image and its URL, about.
  private static let overhead = 1_024

  private let memory: MemoryShare
  private let entries = Mutex(LeastRecentlyUsed<ImageRequest, PreparedImages.Entry>())

  /// - Parameter weight: see `MemoryShare`.
  init(in memory: MemoryShare, weight: Int) {
    self.memory = memory
    memory.add(self, weight: weight)
  }

  var keptByteCount: Int { entries.withLock(\.cost) }

  func trim(toByteCount byteCount: Int) {
    entries.withLock { $0.trim(toCost: byteCount) }
  }

  func use(_ request: ImageRequest) -> PreparedImages.Entry? {
    entries.withLock { $0.use(request) }
  }

  func remove(_ request: ImageRequest) {
    entries.withLock { _ = $0.remove(request) }
  }

  /// An image that has no room where others need theirs is not kept.
  ///
  /// - Returns: the entry, with the copy of its image that is there already.
  func insert(_ entry: PreparedImages.Entry, for request: ImageRequest) -> PreparedImages.Entry {
    let cost = entry.image.body.count + request.url.utf8.count + Self.overhead
    guard cost <= memory.part(of: self) else { return entry }
    defer { memory.settle() }
    return entries.withLock { entries in
      var entry = entry
      if let known = entries.use(request)?.image, known.isCopy(of: entry.image) {
        entry = entry.with(known)
      }
      entries.insert(entry, as: request, cost: cost)
      return entry
    }
  }
}

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

/// How long clients and proxies may keep an answer (RFC 9111).
struct CacheLifetime {
  /// How old the thumbnail is, in whole seconds.
  private let age: Int64
  /// How old it may become, in whole seconds.
  private let limit: Int64
  /// The end of that time, in the form of a field.
  private let expires: String

  /// - Parameters:
  ///   - maximumAge: how long the answer may be kept at most.
  ///   - end: until when it may be kept at most.
  /// - Returns: `nil` for a thumbnail that is not stored, which nothing may keep.
  init?(of image: PreparedImage, maximumAge: Duration?, until end: WallTime?, at now: WallTime) {
    guard let storedAt = image.storedAt, let expiresAt = image.expiresAt else { return nil }
    let age = max(0, storedAt.duration(to: now).components.seconds)
    let lifetime = max(0, storedAt.duration(to: expiresAt).components.seconds)
    self.age = age
    let rest = [maximumAge, end.map { max(.zero, now.duration(to: $0)) }].compactMap(\.self).min()
    guard let maximumAge = rest, age + maximumAge.components.seconds < lifetime else {
      limit = lifetime
      expires = image.expires ?? HTTPDate(expiresAt).text
      return
    }
    limit = age + maximumAge.components.seconds
    expires = HTTPDate(now.advanced(by: maximumAge)).text
  }

  /// Adds the fields that say so.
  func add(to fields: inout HTTPFields) {
    fields.add("Cache-Control", "public, max-age=\(limit)")
    fields.add("Expires", expires)
    fields.add("Age", "\(age)")
  }
}

/// Work that waits in a queue for its turn, for as long as a task waits for it.
final class QueuedWork<Value: Sendable>: Sendable {
  private enum State {
    case queued(CheckedContinuation<Value?, Never>?)
    case running(CheckedContinuation<Value?, Never>)
    /// Its task has gone on.
    case abandoned
  }

  private let state = Mutex(State.queued(nil))
  private let body: @Sendable () -> Value
  private let skip: @Sendable () -> Void

  private init(_ body: @escaping @Sendable () -> Value, skip: @escaping @Sendable () -> Void) {
    self.body = body
    self.skip = skip
  }

  /// Runs a body on a queue.
  ///
  /// - Parameter skip: is called in its place if the task was cancelled before.
  /// - Returns: `nil` if the task was cancelled meanwhile. What the body gives later is dropped.
  static func value(
    on queue: DispatchQueue, _ body: @escaping @Sendable () -> Value,
    skip: @escaping @Sendable () -> Void = {}
  ) async -> Value? {
    let work = QueuedWork(body, skip: skip)
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        work.wait(continuation)
        queue.async { work.run() }
      }
    } onCancel: {
      work.abandon()
    }
  }

  private func wait(_ continuation: CheckedContinuation<Value?, Never>) {
    let isAbandoned = state.withLock { state in
      if case .abandoned = state { return true }
      state = .queued(continuation)
      return false
    }
    if isAbandoned { continuation.resume(returning: nil) }
  }

  private func run() {
    let isWanted = state.withLock { state in
      guard case .queued(let continuation?) = state else { return false }
      state = .running(continuation)
      return true
    }
    guard isWanted else { return skip() }
    let value = body()
    takeContinuation()?.resume(returning: value)
  }

  private func abandon() {
    takeContinuation()?.resume(returning: nil)
  }

  private func takeContinuation() -> CheckedContinuation<Value?, Never>? {
    state.withLock { state in
      defer { state = .abandoned }
      switch state {
      case .queued(let continuation): return continuation
      case .running(let continuation): return continuation
      case .abandoned: return nil
      }
    }
  }
}
