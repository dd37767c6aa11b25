import ImgSystem
import TestFiles
import Testing

@Suite(.timeLimit(.minutes(20)))
struct FileLengthTests {
  private let root: TestDirectory
  private let path: String

  init() throws {
    root = try TestDirectory()
    path = root.file("file")
  }

  @Test func `opening for update keeps the content`() throws {
    for content in ["first", "again"] {
      let file = try FileIO.open(updating: path)
      try FileIO.writeAll(file.rawValue, Array(content.utf8).span, at: 0)
      #expect(try FileIO.contents(of: file.rawValue, named: path, upTo: 10) == Array(content.utf8))
    }
    #expect(try FileStatus(following: path).permissions == 0o600)
  }

  @Test func `bytes are written at an offset, also behind the end`() throws {
    let file = try FileIO.open(updating: path)
    try FileIO.writeAll(file.rawValue, [1, 2].span, at: 3)
    try FileIO.writeAll(file.rawValue, [9].span, at: 4)
    #expect(try FileIO.contents(of: path, upTo: 10) == [0, 0, 0, 1, 9])
  }

  @Test func `allocation extends a file and never truncates it`() throws {
    let file = try FileIO.open(updating: path)
    try FileIO.allocate(0..<5_000, of: file.rawValue)
    #expect(try FileStatus(of: file.rawValue).byteCount == 5_000)
    try FileIO.allocate(100..<200, of: file.rawValue)
    #expect(try FileStatus(of: file.rawValue).byteCount == 5_000)
    try FileIO.setByteCount(of: file.rawValue, to: 7)
    #expect(try FileIO.contents(of: path, upTo: 10) == [UInt8](repeating: 0, count: 7))
  }

  @Test func `a failed write is an error`() throws {
    let file = try FileIO.open(readingFrom: "/dev/null")
    #expect(throws: SystemError.self) { try FileIO.writeAll(file.rawValue, [1].span, at: 0) }
    #expect(throws: SystemError.self) { try FileIO.allocate(0..<1, of: file.rawValue) }
    #expect(throws: SystemError.self) { try FileIO.setByteCount(of: file.rawValue, to: 1) }
  }
}
