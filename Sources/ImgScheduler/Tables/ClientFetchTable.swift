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

/// The clients that read local files for jobs, and which file each is reading.
package struct FileReadTable {
  private enum Reading: Equatable {
    case none
    /// The file of an item, which may have ended.
    case item(WorkID)
    /// The client takes too long. The item has failed.
    case overdue
  }

  private struct Reader {
    let job: JobID
    var reading = Reading.none
  }

  private var readers: [ViewerID: Reader] = [:]
  /// The items that wait until their file is read.
  private var waiting: Set<WorkID> = []
  /// The items whose file is being read, or was read and is not decoded yet.
  private var begun: Set<WorkID> = []
  private var deadlines = PriorityQueue<ViewerID, Instant>()

  package var isEmpty: Bool { readers.isEmpty && waiting.isEmpty && begun.isEmpty }
  /// How many files are being read, or were read and are not decoded yet.
  package var begunCount: Int { begun.count }
  package var readerCount: Int { readers.count }

  func hasReader(of job: JobID) -> Bool { readers.values.contains { $0.job == job } }

  // MARK: - Readers

  mutating func add(_ reader: ViewerID, for job: JobID) { readers[reader] = Reader(job: job) }

  func contains(_ reader: ViewerID) -> Bool { readers[reader] != nil }

  /// A reader leaves. What it was reading waits again.
  mutating func remove(_ reader: ViewerID) {
    deadlines.remove(reader)
    guard case .item(let item) = readers.removeValue(forKey: reader)?.reading,
      begun.remove(item) != nil
    else { return }
    waiting.insert(item)
  }

  /// The readers that read nothing, in the order in which they came, and their jobs.
  var idle: [(reader: ViewerID, job: JobID)] {
    readers.filter { $0.value.reading == .none }.map { ($0.key, $0.value.job) }
      .sorted { $0.0 < $1.0 }
  }

  // MARK: - Items

  /// The item waits until its file is read, unless it is being read.
  mutating func wait(_ item: WorkID) {
    if !begun.contains(item) { waiting.insert(item) }
  }

  /// The items that wait until their file is read.
  var waitingItems: Set<WorkID> { waiting }

  mutating func begin(_ item: WorkID, by reader: ViewerID, until end: Instant) {
    precondition(waiting.remove(item) != nil, "\(item) waits for no reader")
    begun.insert(item)
    readers[reader]?.reading = .item(item)
    deadlines.set(reader, to: end)
  }

  /// The reader has an answer, and takes the next file.
  ///
  /// - Returns: the item whose file was read; `nil` if it has ended.
  mutating func answered(_ reader: ViewerID) -> WorkID? {
    guard case .item(let item) = endReading(by: reader, as: .none), begun.contains(item) else {
      return nil
    }
    return item
  }

  /// When the next reader has taken too long; `nil` while none reads.
  var deadline: Instant? { deadlines.first?.priority }

  /// Takes the item of a reader that has taken too long. The reader gets no further file before it answers.
  mutating func takeOverdue(at now: Instant) -> WorkID? {
    while let (reader, end) = deadlines.first, end <= now {
      if case .item(let item) = endReading(by: reader, as: .overdue), begun.contains(item) {
        return item
      }
    }
    return nil
  }

  private mutating func endReading(by reader: ViewerID, as next: Reading) -> Reading {
    deadlines.remove(reader)
    guard let former = readers[reader]?.reading else { return .none }
    readers[reader]?.reading = next
    return former
  }

  /// An item ends.
  mutating func end(_ item: WorkID) {
    waiting.remove(item)
    begun.remove(item)
  }
}
