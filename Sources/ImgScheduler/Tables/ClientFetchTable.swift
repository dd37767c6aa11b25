import ImgModel

/// The fetches that clients make in place of workers: which viewer's client fetches for a source, until when, and how
/// many items are made from what it has fetched.
package struct ClientFetchTable {
  private var fetchers: [SourceID: ViewerID] = [:]
  private var sources: [ViewerID: SourceID] = [:]
  private var deadlines = PriorityQueue<SourceID, Instant>()
  /// How many items are made from a body. The last one releases its file.
  private var users: [MemoryFileID: Int] = [:]

  /// A further client is not asked: its picture is fetched by a worker.
  package static let maximumCount = 256

  package var isEmpty: Bool { fetchers.isEmpty }
  package var hasRoom: Bool { fetchers.count < Self.maximumCount }
  package var all: [SourceID: ViewerID] { fetchers }
  package var files: Set<MemoryFileID> { Set(users.keys) }

  /// The viewer whose client fetches for a source; `nil` for none.
  func fetcher(of source: SourceID) -> ViewerID? { fetchers[source] }

  /// The source for which a viewer's client fetches; `nil` for none.
  func source(fetchedBy viewer: ViewerID) -> SourceID? { sources[viewer] }

  /// - Precondition: neither the source nor the viewer has a fetch.
  mutating func begin(_ viewer: ViewerID, for source: SourceID, until end: Instant) {
    precondition(fetchers[source] == nil && sources[viewer] == nil, "one fetch at a time")
    fetchers[source] = viewer
    sources[viewer] = source
    deadlines.set(source, to: end)
  }

  /// - Returns: the source; `nil` if the viewer's client fetched for none.
  @discardableResult
  mutating func end(_ viewer: ViewerID) -> SourceID? {
    guard let source = sources.removeValue(forKey: viewer) else { return nil }
    fetchers[source] = nil
    deadlines.remove(source)
    return source
  }

  /// When the next fetch has taken too long; `nil` without a fetch.
  var deadline: Instant? { deadlines.first?.priority }

  /// The viewer whose client's fetch has taken too long.
  func overdueFetcher(at now: Instant) -> ViewerID? {
    deadlines.first.flatMap { $0.priority <= now ? fetchers[$0.key] : nil }
  }

  // MARK: - Bodies

  /// One more item is made from a body.
  mutating func use(_ file: MemoryFileID) { users[file, default: 0] += 1 }

  /// An item has no need of its body any more.
  ///
  /// - Returns: whether it was the last one.
  mutating func leave(_ file: MemoryFileID) -> Bool {
    guard let count = users[file] else { preconditionFailure("\(file) is used by no item") }
    users[file] = count > 1 ? count - 1 : nil
    return count == 1
  }
}
