import FoundationEssentials
import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// Header values and cookies, which may be secrets: as durable as their job, and gone with it.
@Suite(.timeLimit(.minutes(20)))
struct JobHeadersTests {
  private let directory: TestDirectory
  private let path: String
  private let id = JobID(rawValue: 1)
  private let secret = "c2VjcmV0IG9mIGEgam9i"

  init() throws {
    directory = try TestDirectory()
    path = directory.path + "/journal"
  }

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
    try FileManager.default.copyItem(
      atPath: path + "/headers/1", toPath: path + "/headers/7")
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
