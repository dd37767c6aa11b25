package import ImgModel
import ImgSystem

/// What is intact of a journal, whatever is damaged: read without LMDB, see ``PageScan``, and
/// without changing anything. Nothing that the checksum of a record does not vouch for is in it.
///
/// What the journal has deleted may still lie in free pages, so jobs that were removed lately can
/// be among those found. Of several versions of a record the latest counts.
package struct JournalExtract {
  private let scan: PageScan
  private let jobs: [JobID: FoundJob]

  /// A record of more bytes is none of the journal's: its chunks of lines are the largest.
  private static let maximumRecordByteCount =
    LineChunk.lineCount * (LineChunk.maximumLineByteCount + MemoryLayout<UInt16>.size)
    + JournalRecord.headByteCount

  /// - Parameter directory: the journal's.
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

  /// The jobs of which anything was found, in the order of submission.
  package var jobIDs: [JobID] { jobs.keys.sorted() }

  /// A job without its headers; `nil` where its record is lost.
  package func job(_ id: JobID) -> JobRecord? { jobs[id]?.record }

  /// Hands each line of a job to `body`, in the order of the list, with its outcome where there is
  /// one that stands. The URL is `nil` where the list is lost.
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

/// What was found of one job, the latest versions.
private struct FoundJob {
  private(set) var record: JobRecord?
  /// By the first index of the chunk.
  private(set) var chunks: [Int: PageScan.Place] = [:]
  private(set) var outcomes: [Int: (place: PageScan.Place, rank: Int)] = [:]

  mutating func add(_ found: JobRecord) {
    guard let known = record else { return record = found }
    if Self.age(of: known) < Self.age(of: found) { record = found }
  }

  /// A chunk grows by appending: the longest is the latest.
  mutating func addLines(from index: Int, _ place: PageScan.Place) {
    if chunks[index]?.byteCount ?? 0 < place.byteCount { chunks[index] = place }
  }

  mutating func addOutcome(of index: Int, _ place: PageScan.Place, rank: Int) {
    if outcomes[index]?.rank ?? -1 < rank { outcomes[index] = (place, rank) }
  }

  /// Later versions of a record have more. A retry takes outcomes back, in a new round.
  private static func age(of job: JobRecord) -> (Int, Int, Int, Int) {
    (
      job.retries.round, job.finishedAt == nil ? 0 : 1, job.counts.finished, job.counts.total
    )
  }

  /// As many lines as the record says, or as there are chunks and outcomes for.
  func lineCount(readingLast lines: (PageScan.Place, Int) -> [String]) -> Int {
    if let total = record?.counts.total, total > 0 { return total }
    let last = chunks.keys.max().flatMap { start in chunks[start].map { (start, $0) } }
    let listed = last.map { $0.0 + lines($0.1, $0.0).count } ?? 0
    return max(listed, (outcomes.keys.max() ?? -1) + 1)
  }
}
