import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// What the store remembers of origins' robots.txt.
@Suite(.timeLimit(.minutes(20))) struct RobotsRecordTests {
  private let directory: TestDirectory
  private let store: ThumbnailStore
  private let origin = "https://example.org"

  init() throws {
    directory = try TestDirectory()
    store = try ThumbnailStore(directory)
  }

  private func record(_ text: String) -> RobotsRecord {
    RobotsRecord(text: text, expiresAt: .now(plusSeconds: 60))
  }

  @Test func `a stored robots.txt is found until it expires`() throws {
    let kept = record("Disallow: /ä\n")
    #expect(try store.robots(of: origin, at: .now) == nil)
    try store.keep(kept, of: origin)
    #expect(try store.robots(of: origin, at: .now(plusSeconds: 59)) == kept)
    #expect(try store.robots(of: origin, at: .now(plusSeconds: 60)) == nil)
    #expect(try store.robots(of: "https://example.org:81", at: .now) == nil)
  }

  @Test func `the newest robots.txt applies, and a reset removes it`() throws {
    try store.keep(record("a"), of: origin)
    try store.keep(record(""), of: origin)
    #expect(try store.robots(of: origin, at: .now)?.text == "")
    try store.reset()
    #expect(try store.robots(of: origin, at: .now) == nil)
  }

  @Test func `robots.txt records beyond their part of the budget are dropped`() throws {
    let budget = Int64(16 << 20)
    let small = try ThumbnailStore(
      directory: directory.path + "/small", access: .readWrite(budgetByteCount: budget))
    try small.put([NewThumbnail(picture: 1)], at: .now)
    let large = record(String(repeating: "a", count: 300 << 10))
    for number in 0..<12 { try small.keep(large, of: "\(origin):\(number)") }
    let known = try (0..<12).filter { try small.robots(of: "\(origin):\($0)", at: .now) != nil }
    #expect(known.contains(11))
    #expect(known.count < 8)
    #expect(try small.bytes(ofPicture: 1) != nil)
  }

  @Test(arguments: [[], [1, 2, 3]] as [[UInt8]])
  func `an invalid record is ignored`(value: [UInt8]) {
    #expect(RobotsRecord(value.span) == nil)
  }
}
