import ImgModel
import ImgScheduler

/// A journal in memory: answers reads, applies operations, and sees to it that no line has two
/// outcomes. What it holds survives the coordinator.
struct JournalModel {
  struct Job {
    var record: JobRecord
    /// The line at an index; computed, so that a long list costs nothing. `nil` where it is damaged.
    let line: (Int) -> String?
    /// Outcomes with the rounds they were made in.
    var outcomes: [Int: (outcome: Outcome, round: Int)] = [:]
    /// How many lines were handed out in pages.
    var readLineCount = 0

    /// Whether the line has an outcome that stands.
    func hasOutcome(_ index: Int) -> Bool {
      guard let (outcome, round) = outcomes[index] else { return false }
      guard case .failed(let failure, _) = outcome else { return true }
      return !record.retries.isOpen(failureOf: round, isRetryable: failure.isRetryable)
    }

    var outcomeCount: Int { outcomes.keys.count { hasOutcome($0) } }
  }

  private(set) var jobs: [JobID: Job] = [:]
  private var faults: [String] = []

  mutating func add(_ record: JobRecord, line: @escaping (Int) -> String?) {
    jobs[record.id] = Job(record: record, line: line)
  }

  /// What went against the rules since it was asked last.
  mutating func takeFaults() -> [String] {
    defer { faults = [] }
    return faults
  }

  /// Jobs that go on when a coordinator starts.
  var activeJobs: [JobRecord] {
    jobs.values.map(\.record).filter(\.isActive).sorted { $0.id < $1.id }
  }

  mutating func page(_ request: LinePageRequest) -> LinePage {
    let end = request.positions.last?.upperBound ?? 0
    guard let job = jobs[request.job], job.record.isActive else {
      return LinePage(lines: [], next: end)
    }
    var lines: [JobLine] = []
    for position in request.positions.joined() {
      guard lines.count < request.limit else { return LinePage(lines: lines, next: position) }
      let index = request.order.line(at: position, of: job.record.counts.total)
      if job.hasOutcome(index) { continue }
      lines.append(JobLine(index: index, text: job.line(index)))
      jobs[request.job]?.readLineCount += 1
    }
    return LinePage(lines: lines, next: end)
  }

  /// Makes the operation durable.
  mutating func apply(_ operation: JournalOperation) {
    switch operation {
    case .record(let id, let index, let outcome): record(outcome, of: id, index: index)
    case .start(let id, let at):
      if jobs[id]?.record.startedAt != nil { faults.append("job \(id) started twice") }
      jobs[id]?.record.startedAt = at
    case .finish(let id, let at):
      if jobs[id]?.record.isActive != true { faults.append("job \(id) ended twice") }
      jobs[id]?.record.finish(at: at)
    case .change(let id, .remove, _):
      jobs[id] = nil
    case .change(let id, let change, let at):
      do throws(JobChangeRefusal) {
        try jobs[id]?.record.apply(change, at: at)
      } catch {
        faults.append("an illegal change: \(error)")
      }
    case .createJob, .appendURLs, .seal, .discard:
      faults.append("the scheduler does not submit")
    }
  }

  private mutating func record(_ outcome: Outcome, of id: JobID, index: Int) {
    guard let round = jobs[id]?.record.retries.round, jobs[id]?.record.isActive == true else {
      return
    }
    if jobs[id]?.hasOutcome(index) == true {
      faults.append("line \(index) of job \(id) has two outcomes")
    }
    jobs[id]?.outcomes[index] = (outcome, round)
    jobs[id]?.record.count(outcome)
  }
}
