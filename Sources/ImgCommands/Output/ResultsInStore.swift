import ImgClient
package import ImgModel
import ImgSettings

/// What the store has of what a job made.
package struct ResultsInStore: Hashable, Sendable {
  /// Lines whose results have expired, or were evicted or removed.
  var lostCount: Int
  /// Lines whose results may be those of another request, see ``ImageJob/mayHaveLost(_:of:_:)``.
  var laterCount: Int
  /// The records in which the job has replaced what jobs had stored that had ended before, and still pin.
  var replaced: PinnedRecords

  package init(
    lostCount: Int = 0, laterCount: Int = 0, replaced: PinnedRecords = PinnedRecords([:])
  ) {
    self.lostCount = lostCount
    self.laterCount = laterCount
    self.replaced = replaced
  }

  /// What the user should know of it, in lines without line feeds.
  package func notes(on status: ImageJob) -> [String] {
    let noun = status.request.keep.noun
    var notes: [String] = []
    if lostCount > 0 {
      notes.append(
        "\(lostCount) of \(HumanText.count(status.done, of: noun)) "
          + "\(lostCount == 1 ? "is" : "are") \(status.absence); to fetch again what DIR has not: "
          + "imgctl export \(status.job) DIR --fetch")
    }
    if laterCount > 0 { notes.append(Self.text(ofLater: laterCount, noun, of: status.job)) }
    if !replaced.isEmpty {
      notes.append(
        "took the place of records that other jobs pin, maybe with other bytes: \(replaced.text("of"))"
      )
    }
    return notes
  }

  /// - Parameter noun: for what is counted.
  static func text(ofLater count: Int, _ noun: String, of job: JobID) -> String {
    "\(HumanText.count(count, of: noun)) \(count == 1 ? "was" : "were") stored after job \(job) had its own, and may "
      + "not be what it fetched"
  }
}

extension ImageJob {
  /// What has become of results that the store does not have.
  var absence: String {
    request.obeysNoStore
      ? "not stored (expired, evicted, or the origin sent no-store)" : "no longer stored"
  }

  /// Whether another request has replaced what the job stored of a line, or may have done so since the job has ended.
  /// The outcome of a line has neither a time nor a hash, so one that was replaced before by another of the same
  /// format, dimensions and length is not known for one.
  ///
  /// - Parameter variant: the position of the record's size among those of the job.
  func mayHaveLost(_ record: CacheRecord, of line: LineResult, _ variant: Int) -> Bool {
    if let endTime, record.bytesStorageTime > endTime { return true }
    // The outcome is that of the first variant.
    guard variant == 0, case .done(let made, _, _) = line.outcome else { return false }
    return made != record.thumbnail
  }
}

extension CommandContext {
  /// Longer jobs are not counted for a command that shows one at once: each line costs a look-up.
  static let countedLineMaximum = 100_000

  /// The jobs, for something that is told beside the result of a command; `nil` if they cannot be read.
  var silentJobs: JobSource? {
    if let client = try? runningCoordinator() { return .coordinator(client) }
    return readsJournal ? try? journalJobs() : nil
  }

  /// Whether the store of these settings is that of the jobs.
  func hasStore(of jobs: JobSource) -> Bool {
    guard case .coordinator(let client) = jobs else {
      if settings.isNamed(.cacheDirectory) { return true }
      // The store of a copy is that of the other one, which goes on with it.
      if case .copy = placeOfJournal { return false }
      return LastCache.otherDirectory(than: settings) == nil
    }
    return (try? client.requireStore(in: settings.storeDirectory)) != nil
  }

  /// What the store has of what a job made; `nil` if this process cannot tell.
  func resultsInStore(of status: ImageJob, _ jobs: JobSource) -> ResultsInStore? {
    guard status.done > 0, status.request.keep != .none, hasStore(of: jobs) else { return nil }
    do {
      var counter = ResultCounter(of: status, in: store, jobs)
      try jobs.results(of: status.job, isFailedOnly: false) { try counter.count($0) }
      return counter.results
    } catch {
      return nil
    }
  }

  /// Whether a job may have replaced what others pin: it has fetched something, and others pin something.
  func mayReplacePins(_ status: ImageJob) -> Bool {
    guard status.done > status.fromCache, let counts = try? store.pinCounts() else { return false }
    return counts.keys.contains { $0 != status.job }
  }
}

/// Counts what the store has of a job, line by line.
private struct ResultCounter {
  private let status: ImageJob
  private let lines: LineResults
  /// When other jobs have ended that pin records.
  private let endTimes: [JobID: WallTime]
  private var lostCount = 0
  private var laterCount = 0
  private var replacedCounts: [JobID: Int] = [:]

  init(of status: ImageJob, in store: LocalStore, _ jobs: JobSource) {
    self.status = status
    lines = LineResults(of: status, in: store)
    var endTimes: [JobID: WallTime] = [:]
    for job in ((try? store.pinCounts()) ?? [:]).keys where job != status.job {
      guard let other = try? jobs.status(of: job), other.keepsPins else { continue }
      endTimes[job] = other.endTime
    }
    self.endTimes = endTimes
  }

  var results: ResultsInStore {
    ResultsInStore(
      lostCount: lostCount, laterCount: laterCount, replaced: PinnedRecords(replacedCounts))
  }

  mutating func count(_ line: LineResult) throws {
    guard case .done(_, let isFromCache, _) = line.outcome else { return }
    let records = try lines.records(of: line)
    if records.contains(nil) { lostCount += 1 }
    let isLater = records.enumerated().contains { variant, record in
      record.map { status.mayHaveLost($0, of: line, variant) } ?? false
    }
    if isLater { laterCount += 1 }
    if !isFromCache, !endTimes.isEmpty { try countReplaced(by: line) }
  }

  private mutating func countReplaced(by line: LineResult) throws {
    let latest = status.endTime ?? .now
    for (record, jobs) in try lines.pinnedRecords(of: line) {
      let storageTime = record.bytesStorageTime
      guard storageTime > status.submissionTime, storageTime <= latest else { continue }
      for job in jobs where endTimes[job].map({ $0 < storageTime }) == true {
        replacedCounts[job, default: 0] += 1
      }
    }
  }
}

/// How many records jobs pin, of those that a command is about.
///
/// It encodes as an array with an object for each job, in the order of the jobs.
package struct PinnedRecords: Hashable, Sendable {
  /// The records of one job. Several jobs may pin one record.
  private struct Count: Hashable, Sendable, Encodable {
    let job: JobID
    let records: Int
  }

  private let counts: [Count]

  /// The maximum number of jobs in a text.
  private static let namedMaximum = 5

  package init(_ counts: [JobID: Int]) {
    self.counts = counts.sorted { $0.key < $1.key }
      .map { Count(job: $0.key, records: $0.value) }
  }

  var isEmpty: Bool { counts.isEmpty }
  /// The job with the lowest number.
  var first: JobID? { counts.first?.job }

  /// Continues a sentence about the records; empty if none is pinned.
  ///
  /// - Parameter start: the words before it.
  package func clause(_ start: String = "") -> String {
    isEmpty ? "" : "\(start), pinned: \(text())"
  }

  /// The records of the jobs with the lowest numbers, such as `2 by job 1, 1 by job 3`.
  ///
  /// - Parameter word: stands before each job.
  func text(_ word: String = "by") -> String {
    var parts = counts.prefix(Self.namedMaximum).map { "\($0.records) \(word) job \($0.job)" }
    let otherCount = counts.count - parts.count
    if otherCount > 0 {
      parts.append("more \(word) \(HumanText.count(otherCount, of: "other job"))")
    }
    return parts.joined(separator: ", ")
  }
}

extension CommandContext {
  /// - Parameter counts: how many records each job pins. Those of a job that keeps no pins are about to end.
  func pinnedRecords(_ counts: [JobID: Int]) -> PinnedRecords {
    guard !counts.isEmpty, let jobs = silentJobs, hasStore(of: jobs) else {
      return PinnedRecords(counts)
    }
    return PinnedRecords(
      counts.filter { job, _ in
        // A job that is not found is one of another data directory with the same store.
        (try? jobs.status(of: job)).map(\.keepsPins) ?? true
      })
  }
}

extension ImageJob {
  /// Whether what the job has pinned is to stay pinned.
  var keepsPins: Bool {
    hasEnded ? pinPolicy == .untilExported : pinPolicy != .none
  }
}

extension PinnedRecords: Encodable {
  package func encode(to encoder: any Encoder) throws {
    try counts.encode(to: encoder)
  }
}
