import ImgSystem
import SeededRandom
import TestFiles
import Testing

@testable import ImgStore

@Suite(.timeLimit(.minutes(20)))
struct FreeListTests {
  private let directory: TestDirectory
  private let environment: Environment
  private var file: DataFile { environment.dataFile }

  init() throws {
    directory = try TestDirectory()
    var options = Environment.Options(content: .thumbnails)
    options.mapByteCount = 64 << 20
    options.durability = .none
    environment = try Environment(directory: directory.path, options: options)
  }

  private func put(_ byteCount: Int, for key: [UInt8]) throws(StoreError) {
    try environment.write { transaction throws(StoreError) in
      let database = try transaction.openDatabase("test", isCreated: true)
      try transaction.put([UInt8](repeating: 1, count: byteCount), for: key, in: database)
    }
  }

  /// One entry with many pages, and many entries: while a reader has a snapshot, no page that a
  /// transaction frees is used again.
  private func free(entryCount: Int) throws {
    try put(3_000 * file.pageByteCount, for: [1])
    try put(1, for: [1])
    try environment.read { _ throws(StoreError) in
      for number in 0..<entryCount { try put(number % 100, for: [2]) }
    }
  }

  private var listedCount: Int {
    get throws {
      try environment.read { transaction throws(StoreError) in try transaction.freePageCount() }
    }
  }

  @Test func `a new file has no free pages`() throws {
    #expect(try FreeList(of: file).pages(from: 0) == [])
  }

  @Test(arguments: [1, 600])
  func `the list has the pages that LMDB counts, on one page and in a tree`(entryCount: Int) throws
  {
    try free(entryCount: entryCount)
    let count = try listedCount
    #expect(count > 3_000)
    let pages = try #require(try FreeList(of: file).pages(from: 0))
    #expect(pages.count == count)
    let first = try #require(pages.sorted().dropFirst(count / 2).first)
    #expect(try FreeList(of: file).pages(from: Int(first))?.count == count - count / 2)
  }

  @Test func `a list of which the file lacks a page is not read`() throws {
    try free(entryCount: 600)
    try file.setByteCount(2 * file.pageByteCount)
    #expect(try FreeList(of: file).pages(from: 0) == nil)
  }

  @Test(arguments: UInt64(0)..<20)
  func `a damaged list ends with pages of the file or without any`(seed: UInt64) throws {
    try free(entryCount: 600)
    var random = SeededGenerator(seed: seed)
    // Near the start of a page are the numbers that lead to others.
    for page in stride(from: 0, to: try file.byteCount(), by: file.pageByteCount) {
      let damage = [UInt8.random(in: 0...255, using: &random)]
      let offset = page + Int.random(in: 10..<200, using: &random)
      try FileIO.writeAll(try file.descriptor(), damage.span, at: offset)
    }
    _ = try FreeList(of: file).pages(from: 0)
  }
}
