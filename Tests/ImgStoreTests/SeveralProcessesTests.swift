import Glibc
import ImgModel
import TestFiles
import Testing

@testable import ImgStore

/// What other processes do to a store. Each exit test is such a process.
@Suite(.timeLimit(.minutes(20)))
struct SeveralProcessesTests {
  private let directory: TestDirectory
  private let store: ThumbnailStore

  init() throws {
    directory = try TestDirectory()
    store = try ThumbnailStore(directory)
  }

  @Test func `thumbnails of another process are found at once`() async throws {
    await #expect(processExitsWith: .success) { [path = store.environment.directory as String] in
      let store = try ThumbnailStore(
        directory: path, access: .readWrite(budgetByteCount: 64 << 20))
      try store.put([NewThumbnail(picture: 1)], at: .now)
      // Without closing anything, as if it were killed.
      _exit(0)
    }
    #expect(try store.bytes(ofPicture: 1) == NewThumbnail(picture: 1).bytes)
  }

  @Test func `a process follows a map that another one has grown`() async throws {
    let path = directory.path + "/small"
    let small = try ThumbnailStore(
      directory: path, access: .readWrite(budgetByteCount: 64 << 20), mapByteCount: 1 << 20)
    // So that a transaction of the old size is kept.
    #expect(try small.bytes(ofPicture: 1) == nil)
    await #expect(processExitsWith: .success) { [path = path as String] in
      let store = try ThumbnailStore(
        directory: path, access: .readWrite(budgetByteCount: 64 << 20), mapByteCount: 1 << 26)
      try store.put([NewThumbnail(picture: 1, byteCount: 4 << 20)], at: .now)
    }
    #expect(try small.bytes(ofPicture: 1)?.count == 4 << 20)
    #expect(try small.statistics(at: .now).mapByteCount == 1 << 26)
    try small.put([NewThumbnail(picture: 2)], at: .now)
    #expect(try small.bytes(ofPicture: 2) != nil)
  }

  @Test func `a dead reader is cleared`() async throws {
    try store.put([NewThumbnail(picture: 1)], at: .now)
    await #expect(processExitsWith: .success) { [path = store.environment.directory as String] in
      let store = try ThumbnailStore(directory: path, access: .readOnly)
      _ = try store.withThumbnail(ContentKey(picture: 1), at: .now) { _, _ in _exit(0) }
    }
    #expect(try store.checkReaders() == 1)
    #expect(try store.checkReaders() == 0)
  }

  @Test func `pages of a dead reader are reused before the map counts as full`() async throws {
    let path = directory.path + "/small"
    let small = try ThumbnailStore(
      directory: path, access: .readWrite(budgetByteCount: 64 << 20), mapByteCount: 1 << 20)
    try small.put([NewThumbnail(picture: 0)], at: .now)
    await #expect(processExitsWith: .success) { [path = path as String] in
      let store = try ThumbnailStore(directory: path, access: .readOnly)
      _ = try store.withThumbnail(ContentKey(picture: 0), at: .now) { _, _ in _exit(0) }
    }
    for group in 0..<80 {
      let numbers = group * 5..<group * 5 + 5
      try small.put(
        numbers.map { try NewThumbnail(picture: $0, byteCount: 7_000) }, at: .now)
    }
    #expect(try small.bytes(ofPicture: 399) != nil)
    #expect(try small.checkReaders() == 0)
  }

  @Test func `pages of a killed reader are reused by running processes`() async throws {
    let new = try NewThumbnail(large: 1, byteCount: 1 << 20)
    try store.put([new], at: .now)
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = store.environment.directory as String] in
      let store = try ThumbnailStore(directory: path, access: .readOnly)
      _ = try store.withThumbnail(ContentKey(picture: 1), at: .now) { _, _ in
        kill(getpid(), SIGKILL)
      }
    }
    for _ in 0..<50 { try store.put([new], at: .now) }
    #expect(try store.environment.dataFile.byteCount() < 10 << 20)
  }

  @Test func `a writer that died in a transaction leaves nothing and blocks no other writer`()
    async throws
  {
    await #expect(processExitsWith: .success) { [path = store.environment.directory as String] in
      let store = try ThumbnailStore(
        directory: path, access: .readWrite(budgetByteCount: 64 << 20))
      let new = try NewThumbnail(picture: 1)
      try store.environment.write { transaction throws(StoreError) in
        var counters = StoreCounters()
        try store.tables.put(new, at: .now, transaction, counting: &counters)
        _exit(0)
      }
    }
    #expect(try store.bytes(ofPicture: 1) == nil)
    try store.put([NewThumbnail(picture: 2)], at: .now)
    #expect(try store.bytes(ofPicture: 2) != nil)
  }
}
