import FoundationEssentials
@_spi(Coding) import ImgModel
import TestFiles
import Testing

@testable import ImgStore

@Suite(.timeLimit(.minutes(20))) struct OutcomeRecordTests {
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
    let record = OutcomeRecord.encode(outcome, round: 70_000)
    #expect(try decode(record) == outcome)
    if case .done = outcome { #expect(record.count == 24) }
  }

  @Test func `a failure record without a byte count is readable`() throws {
    let head: [UInt8] = [2, 1, 0, 0, 0, 0, 0, 0]
    #expect(try decode(head + Fields.json(of: Failure.passing)) == .failed(.passing))
  }

  @Test func `a failure in the JSON of an earlier release is readable`() throws {
    let json = #"{"stage":"fetch","retryable":true,"code":"timeout","detail":"http:\/\/a\/"}"#
    let outcome = try decode([2, 1, 0, 0, 0, 0, 0, 0] + Array(json.utf8))
    #expect(outcome == .failed(Failure(stage: .fetch, code: .timeout, detail: "http://a/")))
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
        var record = OutcomeRecord.encode(outcome, round: round)
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

/// Header values and cookies, which may be secrets: as durable as their job, and gone with it.
@Suite(.timeLimit(.minutes(20))) struct JobHeadersTests {
  private let directory = TestDirectory()
  private var path: String { directory.path + "/journal" }
  private let id = JobID(rawValue: 1)
  private let secret = "c2VjcmV0IG9mIGEgam9i"

  private func open() throws -> Journal { try Journal(directory: path) }

  private var secrets: RequestSecrets {
    get throws {
      RequestSecrets(
        headers: try HeaderFields([HeaderField(name: "authorization", value: secret)]),
        cookies: try Cookies([Cookie(line: "example.org\tTRUE\t/\tFALSE\t0\tsession\t\(secret)")]))
    }
  }

  /// Accepts a job of two lines.
  private func submit(to journal: Journal) throws {
    var job = JobRecord.sample(id)
    job.secrets = try secrets
    try journal.apply([.createJob(job), .appendURLs(id, ["a", "b"]), .seal(id)])
  }

  private func end(_ journal: Journal) throws {
    try journal.apply([.record(id, index: 0, .cancelled), .finish(id, at: .now)])
  }

  /// The files whose bytes hold the secret.
  private func filesWithSecret() throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: path).filter { name in
      let bytes = FileManager.default.contents(atPath: "\(path)/\(name)")
      return bytes?.firstRange(of: Data(secret.utf8)) != nil
    }
  }

  @Test func `header values are in a file of their job until it is removed`() throws {
    let journal = try open()
    try submit(to: journal)
    #expect(try filesWithSecret() == ["headers/1"])
    let attributes = try FileManager.default.attributesOfItem(atPath: path + "/headers/1")
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    try end(journal)
    try journal.apply(.change(id, .remove, at: .now))
    #expect(try filesWithSecret() == [])
    #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/headers") == [])
  }

  @Test func `erasing overwrites a file before removing it`() throws {
    let journal = try open()
    try submit(to: journal)
    // A second name shows what becomes of the bytes.
    try FileManager.default.linkItem(
      atPath: path + "/headers/1", toPath: directory.path + "/witness")
    try end(journal)
    try journal.apply(.change(id, .remove, at: .now))
    let bytes = try Data(contentsOf: URL(filePath: directory.path + "/witness"))
    #expect(!bytes.isEmpty && bytes.allSatisfy { $0 == 0 })
  }

  @Test func `a discarded submission leaves no header values`() throws {
    let journal = try open()
    var job = JobRecord.sample(id)
    job.secrets = try secrets
    try journal.apply(.createJob(job))
    try journal.apply(.discard(id))
    #expect(try filesWithSecret() == [])
    // One whose creation was never committed: the same job is in no table.
    #expect(throws: StoreError.self) {
      try journal.apply([.createJob(job), .seal(JobID(rawValue: 9))])
    }
    try journal.apply(.discard(id))
    #expect(try filesWithSecret() == [])
  }

  @Test func `header values survive a restart, and leftovers of a crash are erased`() throws {
    do { try submit(to: open()) }
    try FileManager.default.copyItem(atPath: path + "/headers/1", toPath: path + "/headers/7")
    let journal = try open()
    #expect(try journal.job(id)?.secrets == secrets)
    #expect(try filesWithSecret() == ["headers/1"])
    try journal.apply(.record(id, index: 0, .cancelled))
    #expect(try journal.job(id)?.secrets == secrets)
  }

  @Test func `a file of header values alone is read`() throws {
    do { try submit(to: open()) }
    let fields = #"[{"name":"authorization","value":"\#(secret)"}]"#
    let body = [JournalRecord.Layout.headers.rawValue] + Array(fields.utf8)
    let record = JournalRecord.encode(body, for: JournalKey.job(id))
    try Data(record).write(to: URL(filePath: path + "/headers/1"))
    let job = try #require(try open().job(id))
    #expect(!job.lacksHeaders)
    #expect(try job.secrets == RequestSecrets(headers: secrets.headers, cookies: .none))
  }

  @Test(arguments: [true, false])
  func `a job with lost header values reports it permanently`(isMissing: Bool) throws {
    do { try submit(to: open()) }
    let file = path + "/headers/1"
    if isMissing {
      try FileManager.default.removeItem(atPath: file)
    } else {
      var bytes = try Data(contentsOf: URL(filePath: file))
      bytes[bytes.count - 5] ^= 1
      try bytes.write(to: URL(filePath: file))
    }
    do {
      let journal = try open()
      #expect(try journal.unfinishedJobs().map(\.lacksHeaders) == [true])
      try journal.apply(.record(id, index: 0, .cancelled))
    }
    let job = try #require(try open().job(id))
    #expect(job.lacksHeaders)
    #expect(job.secrets == .none)
    #expect(job.counts.finished == 1)
  }
}
