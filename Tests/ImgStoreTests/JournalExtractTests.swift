import FoundationEssentials
import ImgModel
import SeededRandom
import TestFiles
import Testing

@testable import ImgStore

/// What is intact of a damaged journal is found, and nothing else.
@Suite(.timeLimit(.minutes(20)))
struct JournalExtractTests {
  private let directory: TestDirectory
  private let file: URL
  private let id = JobID(rawValue: 1)
  private let other = JobID(rawValue: 2)
  private let results: [ResultPage.Entry]

  private static let pageByteCount = 4_096

  /// A job of 2,000 lines that was taken up again, and one that waits.
  init() throws {
    let (id, other) = (JobID(rawValue: 1), JobID(rawValue: 2))
    directory = try TestDirectory()
    file = URL(filePath: directory.path + "/data.mdb")
    let journal = try Journal(directory: directory.path)
    try journal.submit(id, lineCount: 2_000)
    try journal.submit(other, lineCount: 10)
    for start in stride(from: 0, to: 2_000, by: 100) {
      try journal.apply(
        (start..<start + 100).map { index in
          let outcome: Outcome =
            index % 3 == 0
            ? .failed(.passing) : .done(.sample, fromCache: false, bytesFetched: index)
          return .record(id, index: index, outcome)
        })
    }
    try journal.apply([.finish(id, at: .now), .change(id, .retry(includesFinal: false), at: .now)])
    try journal.apply([
      .record(id, index: 0, .failed(.sample)),
      .record(id, index: 3, .done(.sample, fromCache: true, bytesFetched: 0)),
    ])
    results = try journal.allResults(of: id)
  }

  private func extracted(_ job: JobID) throws -> [ResultPage.Entry] {
    var entries: [ResultPage.Entry] = []
    try JournalExtract(directory: directory.path).forEachLine(of: job) { index, url, outcome in
      entries.append(ResultPage.Entry(index: index, url: url ?? "", outcome: outcome))
    }
    return entries
  }

  private func littleEndian(_ number: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: UInt64(number))
    return bytes
  }

  private func change(_ change: (inout Data) -> Void) throws {
    var bytes = try Data(contentsOf: file)
    change(&bytes)
    try bytes.write(to: file)
  }

  @Test func `an intact journal is extracted completely`() throws {
    let extract = try JournalExtract(directory: directory.path)
    #expect(extract.jobIDs == [id, other])
    #expect(extract.job(id)?.name == "list")
    #expect(extract.job(id)?.state == .queued)
    #expect(try extracted(id) == results)
    #expect(try extracted(other).map(\.url) == (0..<10).map { "https://example.org/\($0)" })
  }

  @Test func `extraction does not need LMDB's structures`() throws {
    try change { bytes in
      for (number, page) in stride(from: 0, to: bytes.count, by: Self.pageByteCount).enumerated() {
        // A page has its number first, unless it continues the value of the one before.
        guard bytes[page..<page + 8].elementsEqual(littleEndian(number)) else { continue }
        for offset in page..<page + 16 { bytes[offset] = 0xFF }
      }
    }
    #expect(throws: StoreError.self) { try Journal(directory: directory.path) }
    #expect(try extracted(id) == results)
  }

  @Test(arguments: UInt64(0)..<8)
  func `extraction of a damaged journal returns only written data`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    try change { bytes in
      for _ in 0..<12 {
        let offset = Int.random(in: 0..<bytes.count, using: &random)
        bytes[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      }
      if seed % 2 == 1 { bytes = bytes.prefix(bytes.count * 3 / 4) }
    }
    var rightCount = 0
    for entry in try extracted(id) {
      let written = results[entry.index]
      #expect(entry.url.isEmpty || entry.url == written.url)
      if entry == written { rightCount += 1 }
    }
    #expect(rightCount > 200)
  }

  @Test func `extraction without a file is an error`() throws {
    let error = #expect(throws: StoreError.self) {
      _ = try JournalExtract(directory: directory.path + "/none")
    }
    #expect(error?.reason == .absent)
  }
}
