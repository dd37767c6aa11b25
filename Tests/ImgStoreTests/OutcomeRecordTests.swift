import ImgModel
import Testing

@testable import ImgStore

@Suite(.timeLimit(.minutes(20)))
struct OutcomeRecordTests {
  @Test(
    arguments: [
      .done(.sample, fromCache: true, bytesFetched: 0),
      .done(
        Thumbnail(format: .avif, width: 16_383, height: 1, byteCount: 4_000_000_000),
        fromCache: false, bytesFetched: 5_000_000_000),
      .done(
        Thumbnail(format: .jpeg, width: 2, height: 1, byteCount: 700, isDamaged: true),
        fromCache: false, bytesFetched: 800),
      .failed(.sample),
      .failed(.passing),
      .failed(.passing, bytesFetched: 5_000_000_000),
      .failed(Failure(stage: .decode, code: .corruptImage, detail: "")),
      .cancelled,
    ] as [Outcome])
  func `an outcome can be encoded and decoded`(outcome: Outcome) throws {
    let record = try OutcomeRecord.encode(outcome, round: 70_000)
    #expect(try decode(record) == outcome)
    if case .done = outcome { #expect(record.count == 24) }
  }

  @Test func `a failure record without a byte count is readable`() throws {
    let head: [UInt8] = [2, 1, 0, 0, 0, 0, 0, 0]
    #expect(try decode(head + JSONRecord.encode(Failure.passing)) == .failed(.passing))
  }

  @Test(arguments: [
    [], [0], [4], [1, 0, 1, 0], [2, 0x7B], [3], [1] + [UInt8](repeating: 0, count: 23),
    [2, 0, 0, 0, 0, 0, 0, 0, 0x7B], [4, 0, 0, 0, 0, 0, 0, 0],
  ])
  func `a damaged outcome is an error`(record: [UInt8]) throws {
    let error = #expect(throws: StoreError.self) { try decode(record) }
    #expect(error?.reason == .damaged)
  }

  @Test(arguments: [
    [], [2], [3], [4, 0, 0, 0, 0, 0, 0, 0], [2, 2, 0, 0, 0, 0, 0, 0], [3, 1, 0, 0, 0, 0, 0, 0],
  ])
  func `reading the round of a damaged outcome is an error`(record: [UInt8]) throws {
    let error = #expect(throws: StoreError.self) { try isStanding(record, after: JobRetries()) }
    #expect(error?.reason == .damaged)
  }

  @Test func `whether a retry reopens a failure does not depend on its text`() throws {
    var retries = JobRetries()
    retries.add(includesFinal: true)
    retries.add(includesFinal: false)
    let cases: [(Outcome, standsIn: [Bool])] = [
      (.done(.sample, fromCache: false, bytesFetched: 1), [true, true, true]),
      (.failed(.sample), [false, true, true]),
      (.failed(.passing), [false, false, true]),
      (.cancelled, [false, false, true]),
    ]
    for (outcome, standsIn) in cases {
      for round in 0...2 {
        var record = try OutcomeRecord.encode(outcome, round: round)
        if case .failed = outcome { record = Array(record.prefix(8)) }
        #expect(try isStanding(record, after: JobRetries()))
        #expect(try isStanding(record, after: retries) == standsIn[round])
      }
    }
  }

  // A span cannot pass through `#expect`.

  private func decode(_ record: [UInt8]) throws -> Outcome {
    try OutcomeRecord.decode(record.span)
  }

  private func isStanding(_ record: [UInt8], after retries: JobRetries) throws -> Bool {
    try OutcomeRecord.isStanding(record.span, after: retries)
  }
}
