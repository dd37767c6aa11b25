package import ImgModel
import ImgSystem

/// The intact records of a damaged journal. Reads without LMDB, see ``PageScan``, and changes
/// nothing. Every record has a valid checksum.
///
/// Deleted records may still be in free pages, so it may find jobs that were removed recently. The
/// latest of several versions of a record counts.
package struct JournalExtract {
  private let scan: PageScan
  private let jobs: [JobID: FoundJob]

  /// The maximum size of a record of the journal. Chunks of lines are the largest.
  private static let maximumRecordByteCount =
    LineChunk.lineCount
    * (LineChunk.maximumLineByteCount + MemoryLayout<UInt16>.size + LineChunk.markByteCount)
    + JournalRecord.headByteCount

  /// - Parameter directory: the directory of the journal.
  package init(directory: String) throws(StoreError) {
    do throws(SystemError) {
      let scan = try PageScan(of: directory)
      jobs = Self.jobs(in: scan)
      self.scan = scan
    } catch {
      throw StoreError(error).at(directory, content: .jobs)
    }
  }

  private static func jobs(in scan: PageScan) -> [JobID: FoundJob] {
    var jobs: [JobID: FoundJob] = [:]
    scan.forEachEntry(
      whereKeyByteCount: { [JournalKey.jobByteCount, JournalKey.lineByteCount].contains($0) }
    ) { key, place in
      guard place.byteCount <= maximumRecordByteCount else { return }
      let record = scan.bytes(at: place)
      guard let layout = JournalRecord.layout(of: record.span, for: key.span) else { return }
      let id = JobID(rawValue: key.span.bigEndian(at: 0, as: UInt64.self))
      switch layout {
      case .job where key.count == JournalKey.jobByteCount:
        guard let job = StoredJob.decode(record.span, of: id)?.record else { return }
        jobs[id, default: FoundJob()].add(job)
      case .lines where key.count == JournalKey.lineByteCount,
        .placedLines where key.count == JournalKey.lineByteCount:
        guard let index = try? JournalKey.index(in: key.span, of: id) else { return }
        jobs[id, default: FoundJob()].addLines(from: index, place)
      case .done, .failed, .cancelled:
        guard let index = try? JournalKey.index(in: key.span, of: id),
          let rank = OutcomeRecord.rank(of: record.span)
        else { return }
        jobs[id, default: FoundJob()].addOutcome(of: index, place, rank: rank)
      case .columns:
        guard let start = ColumnRun.start(in: key.span, of: id) else { return }
        jobs[id, default: FoundJob()].addColumns(from: start, place)
      case .job, .lines, .placedLines, .lastJob, .headers:
        break
      }
    }
    return jobs
  }

  /// Whether it is no journal, or nothing of it is intact. One without jobs has at least the head of its file.
  package var isUnreadable: Bool { jobs.isEmpty && !scan.hasHead }

  /// The jobs with any intact record, in the order of submission.
  package var jobIDs: [JobID] { jobs.keys.sorted() }

  /// A job without its headers; `nil` if its record is lost.
  package func job(_ id: JobID) -> JobRecord? { jobs[id]?.record }

  /// Calls `body` with each line of a job, in order, with its valid outcome. The line is `nil` if
  /// the list is lost.
  package func forEachLine(
    of id: JobID, _ body: (_ index: Int, ListLine?, Outcome?) throws -> Void
  ) throws {
    guard let job = jobs[id] else { return }
    var lines: [ListLine] = []
    var columns: (start: Int, lines: [LineColumns]) = (0, [])
    for index in 0..<job.lineCount(readingLast: { self.lines(at: $0, of: id, from: $1) }) {
      let start = LineChunk.start(of: index)
      if index == start {
        lines = job.chunks[start].map { self.lines(at: $0, of: id, from: start) } ?? []
      }
      if let place = job.columns[index] {
        columns = (index, self.columns(at: place, of: id, from: index))
      }
      let ofLine = columns.lines.dropFirst(index - columns.start).first ?? .none
      let line = index - start < lines.count ? lines[index - start] : nil
      try body(
        index, line.map { ListLine($0.text, at: $0.place, columns: ofLine) },
        outcome(of: index, job, id))
    }
  }

  private func columns(
    at place: PageScan.Place, of id: JobID, from start: Int
  ) -> [LineColumns] {
    let key = ColumnRun.key(id, index: start)
    let record = scan.bytes(at: place)
    return ColumnRun.columns(in: record.span, for: key.span) ?? []
  }

  private func lines(
    at place: PageScan.Place, of id: JobID, from start: Int
  ) -> [ListLine] {
    let key = JournalKey.line(id, index: start)
    let record = scan.bytes(at: place)
    return (try? LineChunk.lines(in: record.span, for: key.span)) ?? []
  }

  private func outcome(of index: Int, _ job: FoundJob, _ id: JobID) -> Outcome? {
    guard let found = job.outcomes[index] else { return nil }
    let record = scan.bytes(at: found.place)
    guard OutcomeRecord.isIntact(record.span, for: JournalKey.line(id, index: index).span) else {
      return nil
    }
    let outcome = record.span.extracting(droppingFirst: RecordChecksum.byteCount)
    let retries = job.record?.retries ?? JobRetries()
    guard (try? OutcomeRecord.isStanding(outcome, after: retries)) == true else { return nil }
    return try? OutcomeRecord.decode(outcome)
  }
}

/// The latest versions of the records of one job.
private struct FoundJob {
  private(set) var record: JobRecord?
  /// The chunks by their first index.
  private(set) var chunks: [Int: PageScan.Place] = [:]
  /// The columns by the index of their first line.
  private(set) var columns: [Int: PageScan.Place] = [:]
  private(set) var outcomes: [Int: (place: PageScan.Place, rank: Int)] = [:]

  mutating func add(_ found: JobRecord) {
    guard let known = record else { return record = found }
    if Self.age(of: known) < Self.age(of: found) { record = found }
  }

  /// Chunks grow by appending, so the longest is the latest.
  mutating func addLines(from index: Int, _ place: PageScan.Place) {
    if chunks[index]?.byteCount ?? 0 < place.byteCount { chunks[index] = place }
  }

  mutating func addColumns(from index: Int, _ place: PageScan.Place) { columns[index] = place }

  mutating func addOutcome(of index: Int, _ place: PageScan.Place, rank: Int) {
    if outcomes[index]?.rank ?? -1 < rank { outcomes[index] = (place, rank) }
  }

  /// Later versions of a record have higher counts. A retry reduces them in a new round.
  private static func age(of job: JobRecord) -> (Int, Int, Int, Int) {
    (
      job.retries.round, job.finishedAt == nil ? 0 : 1, job.counts.finished, job.counts.total
    )
  }

  /// The number of lines in the record, or of the chunks and outcomes.
  func lineCount(readingLast lines: (PageScan.Place, Int) -> [ListLine]) -> Int {
    if let total = record?.counts.total, total > 0 { return total }
    let last = chunks.keys.max().flatMap { start in chunks[start].map { (start, $0) } }
    let listed = last.map { $0.0 + lines($0.1, $0.0).count } ?? 0
    return max(listed, (outcomes.keys.max() ?? -1) + 1)
  }
}

/// Reads the entries of an LMDB data file without LMDB, whose calls would end the process on many
/// kinds of damage.
///
/// It reads every page as a leaf, independent of its header and of other pages. The user recognises
/// real entries by a checksum. So damage to one page loses only the content of that page. Free
/// pages are read, too, so entries come in no order, and some are outdated.
///
/// The layout is that of LMDB 0.9 with 64-bit words (`MDB_page` and `MDB_node` in its source):
///
/// | of a page | bytes |
/// |---|---|
/// | header | 16 |
/// | offsets of entries | 2 each |
/// | entries, from the end down | |
///
/// | of an entry | bytes |
/// |---|---|
/// | byte count of the value | 4 |
/// | flags; 1 for a value on pages of its own, whose number is in the entry | 2 |
/// | byte count of the key | 2 |
/// | key and value | |
final class PageScan {
  private let file: OwnedDescriptor
  let byteCount: Int

  private static let pageByteCount = ThisProcess.pageByteCount
  private static let headerByteCount = 16
  private static let entryHeaderByteCount = 8
  private static let isOnOwnPages: UInt16 = 1

  /// - Parameter directory: the directory of an environment.
  init(of directory: String) throws(SystemError) {
    let file = try FileIO.open(readingFrom: directory + "/data.mdb")
    byteCount = try FileStatus(of: file.rawValue).byteCount
    self.file = file
  }

  /// The place of a value in the file.
  struct Place {
    let offset: Int
    let byteCount: Int
  }

  /// The bytes at a place; fewer if the file ends before or cannot be read.
  func bytes(at place: Place) -> [UInt8] {
    let range = place.offset..<place.offset + place.byteCount
    return (try? FileIO.contents(of: file.rawValue, in: range)) ?? []
  }

  /// Whether one of the first two pages names the format (`MDB_meta` in LMDB's mdb.c).
  var hasHead: Bool {
    [0, Self.pageByteCount].contains { page in
      let magic = bytes(at: Place(offset: page + Self.headerByteCount, byteCount: 4))
      return magic.count == 4 && magic.span.littleEndian(at: 0, as: UInt32.self) == FreeList.magic
    }
  }

  /// Calls `body` with each possible entry: its key and the place of its value.
  ///
  /// - Parameter isKey: whether a byte count can be that of a key.
  func forEachEntry(
    whereKeyByteCount isKey: (Int) -> Bool, _ body: (_ key: [UInt8], _ value: Place) -> Void
  ) {
    for page in stride(from: 0, to: byteCount, by: Self.pageByteCount) {
      let bytes = bytes(at: Place(offset: page, byteCount: Self.pageByteCount))
      let span = bytes.span
      var offsetsEnd = span.count
      var next = Self.headerByteCount
      // The offsets end at the first entry at the latest.
      while next + 2 <= offsetsEnd {
        let offset = Int(span.littleEndian(at: next, as: UInt16.self))
        next += 2
        guard offset >= next, offset + Self.entryHeaderByteCount <= span.count else { continue }
        let keyByteCount = Int(span.littleEndian(at: offset + 6, as: UInt16.self))
        let value = offset + Self.entryHeaderByteCount + keyByteCount
        guard isKey(keyByteCount), value <= span.count else { continue }
        guard let place = Self.value(of: offset, at: value, in: span, page: page) else { continue }
        offsetsEnd = min(offsetsEnd, offset)
        body(Array(bytes[offset + Self.entryHeaderByteCount..<value]), place)
      }
    }
  }

  private static func value(
    of entry: Int, at start: Int, in page: Span<UInt8>, page pageOffset: Int
  ) -> Place? {
    let byteCount = Int(page.littleEndian(at: entry, as: UInt32.self))
    guard page.littleEndian(at: entry + 4, as: UInt16.self) & isOnOwnPages != 0 else {
      guard byteCount <= page.count - start else { return nil }
      return Place(offset: pageOffset + start, byteCount: byteCount)
    }
    guard start + MemoryLayout<UInt64>.size <= page.count else { return nil }
    let (offset, overflow) = Int(clamping: page.littleEndian(at: start, as: UInt64.self))
      .multipliedReportingOverflow(by: pageByteCount)
    return overflow ? nil : Place(offset: offset + headerByteCount, byteCount: byteCount)
  }
}
