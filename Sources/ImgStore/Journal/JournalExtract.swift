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
    LineChunk.lineCount * (LineChunk.maximumLineByteCount + MemoryLayout<UInt16>.size)
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
      case .lines where key.count == JournalKey.lineByteCount:
        guard let index = try? JournalKey.index(in: key.span, of: id) else { return }
        jobs[id, default: FoundJob()].addLines(from: index, place)
      case .done, .failed, .cancelled:
        guard let index = try? JournalKey.index(in: key.span, of: id),
          let rank = OutcomeRecord.rank(of: record.span)
        else { return }
        jobs[id, default: FoundJob()].addOutcome(of: index, place, rank: rank)
      case .job, .lines, .lastJob, .headers:
        break
      }
    }
    return jobs
  }

  /// The jobs with any intact record, in the order of submission.
  package var jobIDs: [JobID] { jobs.keys.sorted() }

  /// A job without its headers; `nil` if its record is lost.
  package func job(_ id: JobID) -> JobRecord? { jobs[id]?.record }

  /// Calls `body` with each line of a job, in order, with its valid outcome. The URL is `nil` if
  /// the list is lost.
  package func forEachLine(
    of id: JobID, _ body: (_ index: Int, _ url: String?, Outcome?) throws -> Void
  ) throws {
    guard let job = jobs[id] else { return }
    var lines: [String] = []
    for index in 0..<job.lineCount(readingLast: { self.lines(at: $0, of: id, from: $1) }) {
      let start = LineChunk.start(of: index)
      if index == start {
        lines = job.chunks[start].map { self.lines(at: $0, of: id, from: start) } ?? []
      }
      let url = index - start < lines.count ? lines[index - start] : nil
      try body(index, url, outcome(of: index, job, id))
    }
  }

  private func lines(at place: PageScan.Place, of id: JobID, from start: Int) -> [String] {
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
  private(set) var outcomes: [Int: (place: PageScan.Place, rank: Int)] = [:]

  mutating func add(_ found: JobRecord) {
    guard let known = record else { return record = found }
    if Self.age(of: known) < Self.age(of: found) { record = found }
  }

  /// Chunks grow by appending, so the longest is the latest.
  mutating func addLines(from index: Int, _ place: PageScan.Place) {
    if chunks[index]?.byteCount ?? 0 < place.byteCount { chunks[index] = place }
  }

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
  func lineCount(readingLast lines: (PageScan.Place, Int) -> [String]) -> Int {
    if let total = record?.counts.total, total > 0 { return total }
    let last = chunks.keys.max().flatMap { start in chunks[start].map { (start, $0) } }
    let listed = last.map { $0.0 + lines($0.1, $0.0).count } ?? 0
    return max(listed, (outcomes.keys.max() ?? -1) + 1)
  }
}
