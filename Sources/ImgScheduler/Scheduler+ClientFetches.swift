import ImgModel
import ImgWire

/// Pictures that a client fetches by itself, with a network layer of its own, for all that wait for them.
///
/// A viewer may offer that its client fetches. If the store lacks the picture and no transfer is under way, its client
/// is asked, and the items of the source wait for it in place of a transfer. What it brings is decoded for each of
/// them, as an upload is. A client that fails, leaves, or takes too long ends its own request alone: the next client
/// that offers is asked, or a worker fetches.
///
/// The limits and pauses of hosts are for the requests of workers. Items that respect robots, or limit redirects, need a
/// transfer, which then serves the others, too, see ``WorkItem/takesClientFetches``.
extension Scheduler {
  /// Whether a client fetches for a source, or is asked to now. If one of its items takes no part in that, a worker fetches
  /// for all of them.
  mutating func isFetchedByClient(_ source: Source, for waiting: [WorkItem]) -> Bool {
    let fetcher = clientFetches.fetcher(of: source.id)
    guard !isDraining, waiting.allSatisfy(\.takesClientFetches) else {
      fetcher.map { _ = clientFetches.end($0) }
      return false
    }
    guard fetcher == nil else { return true }
    guard clientFetches.hasRoom,
      let viewer = waiting.lazy.flatMap(\.waiters).filter(\.offersFetch).compactMap(\.viewer).min()
    else { return false }
    let time = limits.transferTimeout
    clientFetches.begin(viewer, for: source.id, until: now.instant + time)
    effects.append(.askToFetch(viewer, within: time))
    return true
  }

  mutating func viewerFetched(_ viewer: ViewerID, _ body: FetchedBody) {
    if fileReads.contains(viewer) { return fileRead(by: viewer, body) }
    guard let id = clientFetches.end(viewer), let source = fetches.sources[id] else {
      return effects.append(.release(body.file))
    }
    if let failure = lengthFailure(of: body) {
      effects.append(.release(body.file))
      return endWait(of: viewer, with: failure)
    }
    let served = waitingItems(of: source).filter(\.takesClientFetches)
    guard !served.isEmpty else { return effects.append(.release(body.file)) }
    for item in served {
      clientFetches.use(body.file)
      work.change(item.id) { $0.body = body }
    }
    for item in served { awaitDecode(item.id) }
    fetches.sources.noteChange(of: id)
  }

  private func lengthFailure(of body: FetchedBody) -> Failure? {
    let byteCount = body.picture.byteCount
    guard byteCount > limits.maxBodyByteCount else { return nil }
    return Failure(
      stage: .fetch, code: .tooLarge,
      detail: "\(byteCount) bytes; \(limits.maxBodyByteCount) are the most")
  }

  mutating func viewerFailedToFetch(_ viewer: ViewerID, _ failure: Failure) {
    if fileReads.contains(viewer) {
      if let item = fileReads.answered(viewer) { fail([(item, failure)]) }
      return
    }
    guard clientFetches.source(fetchedBy: viewer) != nil else { return }
    endWait(of: viewer, with: failure)
  }

  /// Clients that take too long are waited for no more.
  mutating func endClientFetches() {
    while let viewer = clientFetches.overdueFetcher(at: now.instant) {
      endWait(
        of: viewer,
        with: Failure(
          stage: .fetch, code: .timeout,
          detail: "the client was to fetch the picture, and took longer than "
            + "\(limits.transferTimeout.components.seconds) s"))
    }
  }

  /// The viewer is told a failure. What it was to fetch is fetched otherwise for the others.
  private mutating func endWait(of viewer: ViewerID, with failure: Failure) {
    viewerLeft(viewer)
    effects.append(.answer(viewer, .failed(failure), nil))
  }

  /// A viewer has its answer, or has left: its client fetches no more.
  mutating func endClientFetch(by viewer: ViewerID) {
    if let source = clientFetches.end(viewer) { fetches.sources.noteChange(of: source) }
  }
}

/// Local files that clients read with the rights of their users, for lines of jobs.
///
/// A line whose picture the store lacks waits for a reader of its job. What that has read is decoded as an upload is.
/// Few files are read at a time, because each takes up memory until it is decoded. Without a reader the lines wait,
/// and the job goes on with its other lines.
extension Scheduler {
  mutating func readerArrived(_ reader: ViewerID, for job: JobID) {
    guard !isDraining, jobs[job] != nil else { return effects.append(.readingEnded(reader)) }
    fileReads.add(reader, for: job)
  }

  /// The store lacks the picture of a file. Only jobs have readers.
  mutating func awaitFile(_ id: WorkID) {
    guard !work.item(id).isOfNoJob else { return fail([(id, Self.unreadFile)]) }
    jobs.assignStartTags(to: id, in: &work)
    guard wait(id, in: .awaitingFile) else { return }
    guard !isCrowded(work.item(id)) else { return sendBack(id) }
    fileReads.wait(id)
  }

  private static var unreadFile: Failure {
    Failure(
      stage: .fetch, code: .unreadableFile,
      detail: "only the command that submits it reads the file: imgctl submit PATH")
  }

  /// Files that are read at a time, or wait for a decoder: enough to keep the decoders busy, within the coordinator's
  /// memory.
  private var fileReadMaximum: Int { min(2 * limits.workers + 2, Self.fileReadLimit) }
  package static var fileReadLimit: Int { 32 }

  /// Asks readers for the files of the most urgent lines. Ends those whose jobs need none any more.
  mutating func dispatchFileReads() {
    for (reader, job) in fileReads.idle {
      if jobs[job]?.needsNoFile ?? true {
        fileReads.remove(reader)
        effects.append(.readingEnded(reader))
      } else if fileReads.begunCount < fileReadMaximum, let item = nextFile(of: job) {
        let time = limits.transferTimeout
        fileReads.begin(item.id, by: reader, until: now.instant + time)
        let file = WantedFile(url: item.url.text, maximumByteCount: limits.maxBodyByteCount)
        effects.append(.askToRead(reader, file, within: time))
      }
    }
  }

  private func nextFile(of job: JobID) -> WorkItem? {
    let waiting = fileReads.waitingItems.compactMap { work[$0] }
    return waiting.filter { $0.jobs.contains(job) }.min { $0.urgency < $1.urgency }
  }

  private mutating func fileRead(by reader: ViewerID, _ body: FetchedBody) {
    guard let id = fileReads.answered(reader) else { return effects.append(.release(body.file)) }
    if let failure = lengthFailure(of: body) {
      effects.append(.release(body.file))
      return fail([(id, failure)])
    }
    clientFetches.use(body.file)
    work.change(id) { $0.body = body }
    awaitDecode(id)
  }

  /// Readers that take too long are waited for no more.
  mutating func endFileReads() {
    while let item = fileReads.takeOverdue(at: now.instant) {
      let failure = Failure(
        stage: .fetch, code: .timeout, isRetryable: true,
        detail: "reading the file took longer than \(limits.transferTimeout.components.seconds) s")
      fail([(item, failure)])
    }
  }

  /// Whether a job waits for files alone, and no client reads them.
  func lacksReader(_ job: ActiveJob) -> Bool {
    job.waitsForFilesAlone && !fileReads.hasReader(of: job.id)
  }
}

extension Failure {
  /// Of a line that names a file for the command, in a job that no command has submitted.
  static var foreignFile: Failure {
    Failure(
      stage: .queue, code: .blockedPath,
      detail: "only imgctl submit names files by such a URL")
  }
}

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
    guard !waiting.isEmpty || !begun.isEmpty else { return }
    waiting.remove(item)
    begun.remove(item)
  }
}
