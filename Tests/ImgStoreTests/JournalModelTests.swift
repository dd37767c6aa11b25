import ImgModel
import SeededRandom
import TestFiles
import Testing

@testable import ImgStore

/// The journal against a model that keeps one outcome a line and clears those a retry reopens.
@Suite(.timeLimit(.minutes(20)))
struct JournalModelTests {
  private let id = JobID(rawValue: 1)

  @Test(arguments: UInt64(0)..<8)
  func `the journal agrees with its model after any sequence of operations`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let directory = try TestDirectory()
    var model = JobModel(lineCount: Int.random(in: 1...400, using: &random))
    try Journal(directory: directory.path).submit(id, lineCount: model.outcomes.count)
    // Each round reopens the journal.
    for _ in 0..<6 where !model.isRemoved {
      let journal = try Journal(directory: directory.path)
      for _ in 0..<10 where !model.isRemoved {
        let operations = (0..<Int.random(in: 1...4, using: &random)).flatMap { _ in
          model.step(of: id, &random)
        }
        try journal.apply(operations)
        try expectAgreement(of: journal, with: model, &random)
      }
    }
  }

  private func expectAgreement(
    of journal: Journal, with model: JobModel, _ random: inout SeededGenerator
  ) throws {
    let found = try journal.job(id)
    #expect((found == nil) == model.isRemoved)
    guard let job = found else { return }
    #expect(job.state == model.state)
    #expect(job.counts == model.counts)
    let limit = Int.random(in: 40...300, using: &random)
    let results = try journal.allResults(of: id, limit: limit)
    try #require(results.map(\.index) == Array(model.outcomes.indices))
    #expect(results.filter { $0.outcome != model.outcomes[$0.index] } == [])
    let failed = try journal.allResults(of: id, limit: limit, isFailedOnly: true)
    #expect(failed == results.filter { $0.outcome?.isFailure == true })
    let open = job.isActive ? model.outcomes.indices.filter { model.outcomes[$0] == nil } : []
    for order in LineOrder.allCases {
      let read = try journal.openLines(of: id, order: order, limit: limit).map(\.index)
      #expect(read == (order == .firstInFirstOut ? open : open.reversed()))
    }
    if job.isActive { #expect(!model.outcomes.prefix(job.lowWater).contains(nil)) }
  }
}

/// A job as simply as it can be told.
private struct JobModel {
  private(set) var outcomes: [Outcome?]
  private(set) var state = JobRecord.State.queued
  private(set) var isRemoved = false

  init(lineCount: Int) {
    outcomes = [Outcome?](repeating: nil, count: lineCount)
  }

  private var isActive: Bool { state == .queued || state == .paused }

  var counts: JobCounts {
    var counts = JobCounts(total: outcomes.count)
    for outcome in outcomes {
      if let outcome {
        counts.count(outcome, keep: .thumbnail)
      } else if state == .cancelled {
        counts.cancelled += 1
      }
    }
    return counts
  }

  /// Asks something at random.
  ///
  /// - Returns: the operations that ask the same of the journal.
  mutating func step(
    of id: JobID, _ random: inout SeededGenerator
  ) -> [JournalOperation] {
    let change: JobChange
    switch random.next() % 32 {
    case 0..<2: change = .pause
    case 2..<5: change = .resume
    case 5: change = .cancel
    case 6..<10: change = .retry(includesFinal: random.next() % 2 == 0)
    case 10: change = random.next() % 8 == 0 ? .remove : .prioritise(1)
    default: return outcomesAtRandom(of: id, &random)
    }
    if !isRemoved { apply(change) }
    return [.change(id, change, at: .now)]
  }

  private mutating func outcomesAtRandom(
    of id: JobID, _ random: inout SeededGenerator
  ) -> [JournalOperation] {
    let first = outcomes.indices.randomElement(using: &random) ?? 0
    let indices = first..<min(outcomes.count, first + Int.random(in: 1...200, using: &random))
    var operations: [JournalOperation] = indices.map { index in
      let outcome = Outcome.random(&random)
      if isActive, outcomes[index] == nil { outcomes[index] = outcome }
      return .record(id, index: index, outcome)
    }
    if !outcomes.contains(nil) {
      if isActive { state = .finished }
      operations.append(.finish(id, at: .now))
    }
    return operations
  }

  private mutating func apply(_ change: JobChange) {
    switch change {
    case .pause where state == .queued: state = .paused
    case .resume where state == .paused: state = .queued
    case .cancel where isActive: state = .cancelled
    case .retry(let includesFinal) where !isActive: retry(includesFinal: includesFinal)
    case .remove where !isActive: isRemoved = true
    default: break
    }
  }

  private mutating func retry(includesFinal: Bool) {
    let reopened = outcomes.map { outcome -> Outcome? in
      switch outcome {
      case .failed(let failure, _) where includesFinal || failure.isRetryable: nil
      case .cancelled: nil
      default: outcome
      }
    }
    guard reopened.contains(nil) else { return }
    outcomes = reopened
    state = .queued
  }
}

extension Outcome {
  fileprivate var isFailure: Bool {
    if case .failed = self { true } else { false }
  }

  fileprivate static func random(_ random: inout SeededGenerator) -> Outcome {
    switch random.next() % 8 {
    case 0: .failed(.sample)
    case 1..<3: .failed(.passing)
    case 3: .cancelled
    case 4: .done(.sample, fromCache: true, bytesFetched: 0)
    default: .done(.sample, fromCache: false, bytesFetched: 70_000)
    }
  }
}
