import TestFiles
import Testing

@testable import ImgStore

/// The file of an environment without tables; `FileRoomTests` has the space of a store.
@Suite(.timeLimit(.minutes(20)))
struct DataFileTests {
  private let directory: TestDirectory
  private let environment: Environment
  private var file: DataFile { environment.dataFile }

  init() throws {
    directory = try TestDirectory()
    var options = Environment.Options(content: .thumbnails)
    options.mapByteCount = 1 << 20
    environment = try Environment(directory: directory.path, options: options)
  }

  @Test func `a new file has its two pages at the start and lacks nothing`() throws {
    #expect(try file.byteCount() >= 2 * file.pageByteCount)
    #expect(try file.pagesByteCount() == 2 * file.pageByteCount)
    #expect(try file.missingByteCount() <= 0)
    #expect(file.diskSpace != nil)
  }

  @Test func `a file without its two pages at the start is damaged`() throws {
    try file.setByteCount(file.pageByteCount)
    let error = #expect(throws: StoreError.self) { try file.missingByteCount() }
    #expect(error?.code == .truncated)
    #expect(error?.reason == .damaged)
    #expect(error?.description.contains("\(file.pageByteCount) bytes") == true)
  }

  @Test func `a file that lacks pages is completed after a commit`() throws {
    let value = [UInt8](repeating: 1, count: 10 * file.pageByteCount)
    try environment.write { transaction throws(StoreError) in
      let database = try transaction.openDatabase("test", isCreated: true)
      try transaction.put(value, for: [1], in: database)
    }
    let complete = try file.pagesByteCount()
    #expect(complete > 10 * file.pageByteCount)
    try file.setByteCount(complete - file.pageByteCount)
    #expect(try file.missingByteCount() == file.pageByteCount)
    file.completeAfterCommit()
    #expect(try file.byteCount() == complete)
    file.completeAfterCommit()
    #expect(try file.byteCount() == complete)
  }

  @Test func `reserved space does not change the length`() throws {
    let byteCount = try file.byteCount()
    #expect(file.reservedByteCount(behind: byteCount) == 0)
    try file.reserve(byteCount..<byteCount + 100_000)
    #expect(try file.byteCount() == byteCount)
    #expect(file.reservedByteCount(behind: byteCount) == 100_000)
    #expect(file.reservedByteCount(behind: byteCount + 40_000) == 60_000)
    #expect(file.reservedByteCount(behind: byteCount + 200_000) == 0)
  }
}
