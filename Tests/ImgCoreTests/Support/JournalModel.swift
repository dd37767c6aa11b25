import ImgCore
import ImgWire
import Testing

/// A journal in memory: answers reads, applies operations, and sees to it that no line has two
/// outcomes.
struct JournalModel {
  struct Job {
    var record: JobRecord
    /// The line at an index; computed, so that a long list costs nothing.
    let line: (Int) -> String
    var outcomes: [Int: Outcome] = [:]
    /// How many lines were handed out in pages.
    var readLineCount = 0
  }

  private(set) var jobs: [JobID: Job] = [:]

  mutating func add(_ record: JobRecord, line: @escaping (Int) -> String) {
    jobs[record.id] = Job(record: record, line: line)
  }

  /// Carries out a journal effect.
  ///
  /// - Returns: the event that answers it.
  mutating func carryOut(_ effect: Effect) -> Event? {
    switch effect {
    case .readLines(let id, let from, let limit):
      read(id, from: from, limit: limit)
    case .journal(let operation):
      apply(operation)
    default:
      nil
    }
  }

  private mutating func read(_ id: JobID, from: Int, limit: Int) -> Event? {
    guard let job = jobs[id] else { return nil }
    let end = min(from + limit, job.record.counts.total)
    let lines = (from..<max(from, end)).filter { job.outcomes[$0] == nil }
      .map { JobLine(index: $0, text: job.line($0)) }
    jobs[id]?.readLineCount += lines.count
    return .linesRead(id, lines, next: end < job.record.counts.total ? end : nil)
  }

  private mutating func apply(_ operation: JournalOperation) -> Event {
    switch operation {
    case .record(let id, let index, let outcome):
      if jobs[id]?.outcomes.updateValue(outcome, forKey: index) != nil {
        Issue.record("line \(index) of job \(id) has two outcomes")
      }
      jobs[id]?.record.counts.count(outcome)
    case .start(let id, let at):
      if jobs[id]?.record.startedAt != nil { Issue.record("job \(id) started twice") }
      jobs[id]?.record.startedAt = at
    case .finish(let id, _):
      end(id, as: .finished)
    case .cancel(let id, _):
      end(id, as: .cancelled)
    case .createJob, .appendURLs, .seal, .discard:
      Issue.record("the scheduler does not submit")
    }
    return .journaled(operation)
  }

  private mutating func end(_ id: JobID, as state: JobRecord.State) {
    if jobs[id]?.record.state != .queued { Issue.record("job \(id) ended twice") }
    jobs[id]?.record.state = state
  }
}
