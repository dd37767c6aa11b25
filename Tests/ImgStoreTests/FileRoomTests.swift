import TestFiles
import Testing

@testable import ImgStore

/// How long the data file is, beside what its pages demand.
@Suite(.timeLimit(.minutes(20)))
struct FileRoomTests {
  private let directory: TestDirectory
  private let store: ThumbnailStore

  init() throws {
    directory = try TestDirectory()
    store = try ThumbnailStore(directory)
  }

  private var spareByteCount: Int {
    get throws {
      try store.environment.dataFile.byteCount() - store.environment.dataFile.pagesByteCount()
    }
  }

  private func put(_ numbers: Range<Int>, byteCount: Int) throws {
    try store.put(numbers.map { try NewThumbnail(large: $0, byteCount: byteCount) }, at: .now)
  }

  @Test func `small commits write into preallocated space`() throws {
    var lengths: Set<Int> = []
    for number in 0..<100 {
      try put(number..<number + 1, byteCount: 7_000)
      lengths.insert(try store.environment.dataFile.byteCount())
      #expect((0...320 << 10).contains(try spareByteCount))
    }
    // At least two pages a thumbnail, and 64 a step.
    #expect((2...8).contains(lengths.count))
    #expect(try store.bytes(ofPicture: 0)?.count == 7_000)
    #expect(try store.bytes(ofPicture: 99)?.count == 7_000)
    #expect(try store.defects().isEmpty)
  }

  @Test func `a large commit does not preallocate`() throws {
    for group in 0..<10 {
      // A hundred KiB and more.
      try put(group * 12..<group * 12 + 12, byteCount: 7_000)
      // Making the tables was a small commit, whose room the first groups use up.
      if group >= 3 { #expect(try spareByteCount == 0) }
    }
  }

  @Test func `the file does not grow beyond the map`() throws {
    let directory = try TestDirectory()
    let mapByteCount = 512 << 10
    let store = try ThumbnailStore(
      directory: directory.path + "/store", access: .readWrite(budgetByteCount: 64 << 20),
      mapByteCount: mapByteCount)
    for number in 0..<300 {
      try store.put([NewThumbnail(large: number, byteCount: 7_000)], at: .now)
    }
    #expect(try store.environment.dataFile.byteCount() <= mapByteCount)
    #expect(try store.bytes(ofPicture: 299) != nil)
  }
}
