package import ImgModel
package import ImgStore
import ImgSystem
import ImgWire

/// Where a command that only reads finds jobs: from the running coordinator, or in the journal when
/// none runs.
package enum JobSource {
  case coordinator(Client)
  /// No coordinator runs, and so none of its jobs.
  case journal(Journal)
  /// There is no journal yet, and so no job.
  case nothing

  /// Opens the journal for reading.
  package init(journalIn directory: String) throws(StoreError) {
    do throws(StoreError) {
      self = .journal(try Journal(readingIn: directory))
    } catch  where error.reason == .absent {
      self = .nothing
    }
  }

  /// Whether a coordinator works on the jobs.
  package var isServed: Bool {
    if case .coordinator = self { true } else { false }
  }

  /// - Throws: ``ClientError/refused(_:message:)`` where there is no such job.
  package func status(of job: JobID) throws -> ImageJob {
    switch self {
    case .coordinator(let client): return try client.answer(.job(job))
    case .journal(let journal):
      guard let record = try journal.job(job), record.state != .submitting else {
        throw Self.unknown(job)
      }
      return ImageJob(unserved: record)
    case .nothing: throw Self.unknown(job)
    }
  }

  /// Calls `body` with each job, newest first.
  package func forEachJob(_ body: (ImageJob) throws -> Void) throws {
    switch self {
    case .coordinator(let client): try client.forEachJob(body)
    case .journal(let journal):
      var oldest: JobID?
      while true {
        let page = try journal.jobs(before: oldest, limit: JobsPage.maximumCount)
        for record in page { try body(ImageJob(unserved: record).withoutCookies) }
        guard page.count == JobsPage.maximumCount else { return }
        oldest = page.last?.id
      }
    case .nothing: return
    }
  }

  /// Calls `body` with each of the job's lines, or each that failed, in their order.
  package func results(
    of job: JobID, isFailedOnly: Bool, _ body: (LineResult) throws -> Void
  ) throws {
    switch self {
    case .coordinator(let client):
      try client.results(of: job, isFailedOnly: isFailedOnly, body)
    case .journal(let journal):
      let missing: Outcome? = try status(of: job).state == .cancelled ? .cancelled : nil
      var from: Int? = 0
      while let start = from {
        let page = try journal.results(
          of: job, from: start, limit: ResultsPage.maximumCount, isFailedOnly: isFailedOnly)
        for entry in page.entries {
          try body(entry.with(entry.outcome ?? missing))
        }
        from = page.next
      }
    case .nothing: throw Self.unknown(job)
    }
  }

  private static func unknown(_ job: JobID) -> ClientError {
    .refused(.unknownJob, message: "there is no job \(job)")
  }
}

extension ImageJob {
  /// A job that no coordinator serves. A job that had begun waits like any other.
  fileprivate init(unserved record: JobRecord) {
    var record = record
    if record.isActive { record.startedAt = nil }
    let now = WallTime.now
    self.init(record, isDelayed: record.options.delay > .zero && record.notBefore > now)
  }
}

extension JobSource {
  /// Opens the journal for reading.
  ///
  /// - Returns: `nil` if this user may not read it.
  package static func journal(ifPermittedIn directory: String) throws -> JobSource? {
    do throws(StoreError) {
      return try JobSource(journalIn: directory)
    } catch  where error.reason == .notPermitted {
      return nil
    }
  }
}

/// The lines of a running job that have an outcome, each once, in about the order in which they end.
package final class FinishedLines {
  private let job: JobID
  private let client: Client
  /// All lines before it were seen.
  private var firstUnseen = 0
  /// Those behind it that were seen, too.
  private var seen: Set<Int> = []
  /// Where the next look begins.
  private var cursor = 0
  /// Whether `body` has returned `false` for one.
  package private(set) var hasFailures = false

  /// How much of a long list one look goes through, so that the caller can do other things.
  private static let pageMaximum = 16

  /// - Parameter client: a connection that nothing else uses.
  package init(of job: JobID, from client: Client) {
    self.job = job
    self.client = client
  }

  /// Calls `body` with lines that ended since the last call; with all of them once the job has ended.
  ///
  /// - Parameter body: returns whether the line has a result.
  package func forEachNew(
    hasEnded: Bool, _ body: (LineResult) throws -> Bool
  ) throws {
    if hasEnded { cursor = firstUnseen }
    var pageCount = 0
    while hasEnded || pageCount < Self.pageMaximum {
      pageCount += 1
      let page = try client.answer(.results(of: job, from: cursor))
      let ended = page.entries.filter { $0.outcome != nil }
      for entry in ended where see(entry.index) {
        if try !body(entry) { hasFailures = true }
      }
      guard let next = page.next, hasEnded || !ended.isEmpty else {
        cursor = firstUnseen
        return
      }
      cursor = next
    }
  }

  /// - Returns: whether the line was not seen before.
  private func see(_ index: Int) -> Bool {
    guard index >= firstUnseen, seen.insert(index).inserted else { return false }
    while seen.remove(firstUnseen) != nil { firstUnseen += 1 }
    return true
  }
}

/// The intact jobs of a damaged journal. Reads it without opening it, and changes nothing.
///
/// It may find jobs that were removed recently.
package struct JournalRecovery {
  private let extract: JournalExtract

  /// - Parameter directory: the journal's, or that of a copy.
  package init(directory: String) throws {
    extract = try JournalExtract(directory: directory)
  }

  /// The journal in a directory that is none itself; `nil` if it has none.
  package static func journal(in directory: String) -> String? {
    let journal = "\(directory)/journal"
    let isNone = !FileIO.isFile("\(directory)/data.mdb") && FileStatus.isDirectory(at: journal)
    return isNone ? journal : nil
  }

  /// Whether the file is none of a journal, or no page of it is intact.
  package var isUnreadable: Bool { extract.isUnreadable }

  /// The jobs of which anything is intact, in the order of submission.
  package var jobs: [JobID] { extract.jobIDs }

  /// A job without its headers; `nil` if its record is lost.
  package func record(of job: JobID) -> JobRecord? { extract.job(job) }

  /// Calls `body` with each line of a job, in order, with its valid outcome. The line is `nil` if the list
  /// is lost.
  package func forEachLine(
    of job: JobID, _ body: (_ index: Int, ListLine?, Outcome?) throws -> Void
  ) throws {
    try extract.forEachLine(of: job, body)
  }
}

extension Outcome {
  /// Why there is no thumbnail; `nil` if there is one.
  ///
  /// - Parameter reason: why the request was cancelled.
  package func failure(cancelledBecause reason: String = "the request was cancelled") -> Failure? {
    switch self {
    case .done: nil
    case .failed(let failure, _): failure
    case .cancelled: Failure(stage: .queue, code: .cancelled, detail: reason)
    }
  }
}

extension Failure {
  /// The coordinator reported a thumbnail that is no longer in the store.
  package static var isGone: Failure {
    Failure(
      stage: .store, code: .internal, detail: "the thumbnail was removed before it was read")
  }
}

/// What the lines of a job have in the store, which it opens once.
package final class LineResults {
  private let request: ThumbnailRequest
  private let store: LocalStore
  /// `nil` until the store exists.
  private var reader: StoreReader?
  /// The records of the lines that need no pins any more.
  private var unneededKeys: [ContentKey] = []
  /// What a line has fetched was stored after this or not at all. `nil` if it was stored.
  private let earliestTime: WallTime?

  /// - Parameter request: that of the job.
  package convenience init(of request: ThumbnailRequest, in store: LocalStore) {
    self.init(of: request, after: nil, in: store)
  }

  /// Leaves out what the store had of a line before the job fetched it again, without storing that: its origin
  /// forbade it.
  package convenience init(of job: ImageJob, in store: LocalStore) {
    let isByProtocol = job.request.fetch.cachePolicy == .byProtocol
    self.init(of: job.request, after: isByProtocol ? job.submissionTime : nil, in: store)
  }

  private init(of request: ThumbnailRequest, after earliestTime: WallTime?, in store: LocalStore) {
    self.request = request
    self.earliestTime = earliestTime
    self.store = store
  }

  private func isOwn(_ record: CacheRecord, of line: LineResult) -> Bool {
    guard let earliestTime, case .done(_, fromCache: false, _) = line.outcome else { return true }
    return record.storageTime >= earliestTime
  }

  /// The thumbnails of a line in the job's variants, its facts, or its original if the job keeps nothing
  /// else; without those that have expired or were evicted since.
  package func results(of line: LineResult) throws -> [StoredResult] {
    try parts(of: line).compactMap(\.self)
  }

  /// The same with `nil` in the place of what has expired or was evicted since.
  package func parts(of line: LineResult) throws -> [StoredResult?] {
    reader = try reader ?? store.reader()
    let name = request.fetch.name(of: try ImageURL(line: line.url))
    guard let reader else {
      return Array(repeating: nil, count: StoreReader.resultKeys(of: name, for: request).count)
    }
    return try reader.results(of: name, for: request).map { part in
      part.flatMap { isOwn($0.record, of: line) ? $0 : nil }
    }
  }

  /// What the job has made of a line needs no pins any more.
  package func endPins(of line: LineResult) throws {
    let name = request.fetch.name(of: try ImageURL(line: line.url))
    unneededKeys += ContentKey.results(of: name, for: request)
    if request.keep.includesOriginal { unneededKeys.append(ContentKey(originalOf: name)) }
  }

  /// Removes the pins of the job that are not needed any more.
  package func removePins(of job: JobID) throws {
    guard !unneededKeys.isEmpty else { return }
    reader = nil
    try store.unpin(unneededKeys, for: job)
    unneededKeys = []
  }

  /// What is known of ``parts(of:)``, without their bytes. Counts no access.
  package func records(of line: LineResult) throws -> [CacheRecord?] {
    reader = try reader ?? store.reader()
    let name = request.fetch.name(of: try ImageURL(line: line.url))
    guard let reader else {
      return Array(repeating: nil, count: StoreReader.resultKeys(of: name, for: request).count)
    }
    return try reader.resultRecords(of: name, for: request).map { record in
      record.flatMap { isOwn($0, of: line) ? $0 : nil }
    }
  }

  /// Whether the store has all that the job made of a line. Counts no access.
  package func isStored(_ line: LineResult) throws -> Bool {
    try !records(of: line).contains(nil)
  }

  /// What jobs pin of what the job may have stored of a line, with these jobs. Counts no access.
  package func pinnedRecords(
    of line: LineResult
  ) throws -> [(record: CacheRecord, jobs: [JobID])] {
    reader = try reader ?? store.reader()
    let name = request.fetch.name(of: try ImageURL(line: line.url))
    return try reader?.pinnedRecords(of: name, for: request) ?? []
  }
}

extension ClusterStatus {
  /// The free space on the disk of the journal, if that is less than the journal reserves on it for the jobs that were
  /// accepted, so that a list may be refused; `nil` if there is more, or this process may not tell.
  package var scarceJournalSpace: Int64? {
    guard let directory = try? FileIO.open(naming: dataDirectory),
      let space = try? DiskSpace(of: directory.rawValue),
      space.freeByteCount < Int64(Journal.reservedByteCount)
    else { return nil }
    return space.freeByteCount
  }
}
