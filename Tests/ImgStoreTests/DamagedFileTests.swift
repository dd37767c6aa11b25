import FoundationEssentials
import Glibc
import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// Data files that were truncated, overwritten or removed.
@Suite(.timeLimit(.minutes(20)))
struct DamagedFileTests {
  private let directory: TestDirectory
  private let path: String

  init() throws {
    directory = try TestDirectory()
    path = directory.path + "/store"
  }

  @Test(arguments: [false, true])
  func `a store with a truncated file is refused with advice`(isRead: Bool) throws {
    do { try fill(ThumbnailStore(directory)) }
    #expect(unsafe truncate(path + "/data.mdb", 64 << 10) == 0)
    let error = #expect(throws: StoreError.self) {
      try ThumbnailStore(
        directory: path, access: isRead ? .readOnly : .readWrite(budgetByteCount: 64 << 20))
    }
    #expect(error?.reason == .damaged)
    #expect(
      error?.description.contains("remove \(path), and requests make its thumbnails again") == true)
  }

  @Test func `a store whose file is junk is refused with advice`() throws {
    try writeJunk(to: path)
    let error = #expect(throws: StoreError.self) { try ThumbnailStore(directory) }
    #expect(error?.reason == .damaged)
    #expect(
      error?.description.contains("remove \(path), and requests make its thumbnails again") == true)
  }

  @Test func `a journal with a truncated or junk file is refused with advice`() throws {
    let id = JobID(rawValue: 1)
    do {
      let journal = try Journal(directory: path)
      let record = JobRecord(
        id: id, options: RequestOptions(variant: .standard), submittedAt: .now)
      let lines = (0..<10_000).map { "https://example.org/\($0).jpg" }
      try journal.apply([.createJob(record), .appendURLs(id, lines), .seal(id)])
    }
    #expect(unsafe truncate(path + "/data.mdb", 64 << 10) == 0)
    try expectDamagedJournal(in: path)
    let junk = directory.path + "/junk"
    try writeJunk(to: junk)
    try expectDamagedJournal(in: junk)
  }

  /// LMDB leaves pages unwritten that a transaction took from the end of the file and gave back.
  @Test func `an intact store does not count as truncated`() throws {
    do {
      let store = try ThumbnailStore(directory)
      try fill(store)
      _ = try store.remove((0..<100).filter { $0 % 2 == 0 }.map { try ContentKey(picture: $0) })
      for number in 200..<210 {
        // The second of a key takes the place of the first before the commit.
        try store.put(
          [
            NewThumbnail(picture: number, byteCount: 1 << 20),
            NewThumbnail(picture: number, byteCount: 100),
          ], at: .now)
      }
    }
    let reader = try ThumbnailStore(directory: path, access: .readOnly)
    #expect(try reader.bytes(ofPicture: 209)?.count == 100)
  }

  @Test(arguments: [false, true])
  func `a shared store continues after its directory was removed or replaced`(
    isReplaced: Bool
  ) throws {
    let shared = try SharedStore(
      directory: path, access: .readWrite(budgetByteCount: 64 << 20))
    try shared.current().put([NewThumbnail(picture: 1)], at: .now)
    try FileManager.default.removeItem(atPath: path)
    if isReplaced { _ = try ThumbnailStore(directory) }
    try shared.current().put([NewThumbnail(picture: 2)], at: .now)
    let same = try shared.current()
    #expect(try same === shared.current())
    let reader = try ThumbnailStore(directory: path, access: .readOnly)
    #expect(try reader.bytes(ofPicture: 1) == nil)
    #expect(try reader.bytes(ofPicture: 2) != nil)
  }

  /// More than 64 KiB.
  private func fill(_ store: ThumbnailStore) throws {
    try store.put((0..<100).map { try NewThumbnail(picture: $0, byteCount: 10_000) }, at: .now)
  }

  private func writeJunk(to path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    try Data(repeating: 0x55, count: 16_384).write(to: URL(filePath: path + "/data.mdb"))
  }

  private func expectDamagedJournal(in path: String) throws {
    let error = #expect(throws: StoreError.self) { try Journal(directory: path) }
    #expect(error?.reason == .damaged)
    let advice = "the journal in \(path) is damaged; run imgctl recover \(path) DIR"
    #expect(error?.description.contains(advice) == true)
    #expect(error?.description.contains("submit the lists again") == true)
  }
}
