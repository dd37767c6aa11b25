import ImgClient
import ImgCrypto
import ImgModel
import Synchronization

/// Chooses pictures of the store by a seed.
///
/// URLs and seeds have places on a ring, by a hash (consistent hashing, Karger et al., STOC 1997): a seed has the first
/// URL behind its place. So the order in which pictures were stored does not matter, another size of a picture changes
/// nothing, and a further picture changes only the seeds between its place and the one before.
final class RandomPictures: Sendable {
  private struct Entry {
    let place: UInt64
    /// The largest thumbnail of the URL.
    let id: CacheRecord.ID
    let longerSide: Int
    let expiresAt: WallTime
  }

  private struct Index {
    /// By their places.
    let entries: [Entry]
    let madeAt: ContinuousClock.Instant
  }

  private struct State {
    var index: Index?
    /// Reads the store for another index.
    var reading: Task<Result<Index, ImageError>, Never>?
  }

  private enum Known {
    case index(Index)
    case reading(Task<Result<Index, ImageError>, Never>)
  }

  /// How old an index may be. It costs a look at each record.
  private static let lifetime = Duration.seconds(10)
  /// The records that are read. Those of a larger store are as good as random, because keys are hashes.
  private static let maximumRecordCount = 100_000
  private static let partCount = 256
  /// The places that a choice passes over because what was there has been removed since.
  private static let maximumAttemptCount = 8

  private let lists: PictureLists
  private let state = Mutex(State())

  init(_ lists: PictureLists) {
    self.lists = lists
  }

  /// The picture for a seed.
  ///
  /// - Returns: `nil` if the store has none.
  func picture(for seed: String, now: WallTime) async throws(ImageError) -> CacheRecord.ID? {
    let entries = try await currentIndex().entries
    guard !entries.isEmpty else { return nil }
    let place = Self.place(of: "seed \(seed)")
    let first = entries.firstIndex { $0.place >= place } ?? 0
    let candidates = entries.indices.lazy
      .map { entries[(first + $0) % entries.count] }
      .filter { $0.expiresAt > now }
    for entry in candidates.prefix(Self.maximumAttemptCount) {
      if try await lists.record(entry.id) != nil { return entry.id }
    }
    return nil
  }

  private static func place(of text: String) -> UInt64 {
    BLAKE2b.hash(Array(text.utf8), byteCount: 16).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  private func currentIndex() async throws(ImageError) -> Index {
    let known = state.withLock { state -> Known in
      if let index = state.index, ContinuousClock.now - index.madeAt < Self.lifetime {
        return .index(index)
      }
      // Those who wait for it may leave, and others want it.
      let reading = state.reading ?? Task { await self.newIndex() }
      state.reading = reading
      return .reading(reading)
    }
    switch known {
    case .index(let index): return index
    case .reading(let reading): return try await reading.value.get()
    }
  }

  private func newIndex() async -> Result<Index, ImageError> {
    let madeAt = ContinuousClock.now
    let result: Result<Index, ImageError>
    do throws(ImageError) {
      result = .success(Index(entries: try await readEntries(), madeAt: madeAt))
    } catch {
      result = .failure(error)
    }
    state.withLock { state in
      state.reading = nil
      // In an empty store, the next request looks again.
      if case .success(let index) = result, !index.entries.isEmpty { state.index = index }
    }
    return result
  }

  private func readEntries() async throws(ImageError) -> [Entry] {
    var largest: [String: Entry] = [:]
    var last: CacheRecord.ID?
    var count = 0
    while count < Self.maximumRecordCount {
      let part = try await lists.transport.records(after: last, limit: Self.partCount)
      for record in part where record.kind == .thumbnail {
        let side = max(record.thumbnail.width, record.thumbnail.height)
        guard largest[record.url].map({ $0.longerSide < side }) ?? true else { continue }
        largest[record.url] = Entry(
          place: Self.place(of: "url \(record.url)"), id: record.id, longerSide: side,
          expiresAt: record.expiryTime)
      }
      count += part.count
      last = part.last?.id
      if part.count < Self.partCount { break }
    }
    return largest.values.sorted { $0.place < $1.place }
  }
}

/// A path of Picsum that leads to a picture of the store: `/{size}`, `/{width}/{height}`, and the same after
/// `/seed/{seed}`.
struct RandomPath: Hashable {
  /// Decides which one; `nil` for another one each time.
  let seed: String?
  /// What follows the id in the path of that picture, with the query.
  private let rest: String

  /// - Returns: `nil` for another target.
  init?(_ target: String) {
    let path = target.prefix { $0 != "?" }
    var parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    if parts.count > 1, parts.last?.isEmpty == true { parts.removeLast() }
    if parts.first == "seed" {
      guard (3...4).contains(parts.count), let text = parts.dropFirst().first, !text.isEmpty else {
        return nil
      }
      seed = String(text)
      parts = parts.dropFirst(2)
    } else {
      guard (1...2).contains(parts.count) else { return nil }
      seed = nil
    }
    guard parts.allSatisfy(Self.isSize) || seed != nil && parts.elementsEqual(["info"]) else {
      return nil
    }
    rest = "/\(parts.joined(separator: "/"))\(target[path.endIndex...])"
  }

  /// Whether a part is a number, maybe with an extension, which are read with the path that they lead to.
  private static func isSize(_ part: Substring) -> Bool {
    let rest = part.utf8.drop(while: \.isDigit)
    return rest.count < part.utf8.count && (rest.isEmpty || rest.first == UInt8(ascii: "."))
  }

  /// The target that has the picture.
  func target(of id: PictureID) -> String { "/id/\(id)\(rest)" }
}
