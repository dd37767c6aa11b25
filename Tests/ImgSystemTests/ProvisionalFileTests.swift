import Glibc
import ImgSystem
import TestFiles
import Testing

/// Files with content that is replaced and perhaps put back.
struct ProvisionalFileTests {
  private let directory: TestDirectory
  private let path: String

  init() throws {
    directory = try TestDirectory()
    path = directory.file("a")
  }

  private func text() throws -> String {
    String(decoding: try FileIO.contents(of: path, upTo: 100), as: UTF8.self)
  }

  private func write(_ text: String) throws {
    try FileIO.replace(path: path, with: Array(text.utf8))
  }

  @Test func `a file is put back with its content and its rights`() throws {
    try write("old")
    unsafe chmod(path, 0o600)
    var file = try ProvisionalFile(path: path)
    try file.replace(with: Array("first".utf8))
    try file.replace(with: Array("second".utf8))
    #expect(try text() == "second")
    try file.restore()
    #expect(try text() == "old")
    var status = stat()
    unsafe stat(path, &status)
    #expect(status.st_mode & 0o777 == 0o600)
    #expect(status.st_nlink == 1)
    #expect(directory.names() == ["a"])
  }

  @Test func `where there was no file, there is none again`() throws {
    var file = try ProvisionalFile(path: path)
    try file.replace(with: Array("new".utf8))
    try file.restore()
    #expect(directory.names() == [])
  }

  @Test func `the final content stays, and nothing else`() throws {
    try write("old")
    var file = try ProvisionalFile(path: path)
    try file.replace(with: Array("provisional".utf8))
    try write("final")
    file.discard()
    #expect(try text() == "final")
    #expect(directory.names() == ["a"])
  }

  @Test(arguments: [false, true])
  func `a file that another process has put there stays`(isThereBefore: Bool) throws {
    if isThereBefore { try write("old") }
    var file = try ProvisionalFile(path: path)
    try file.replace(with: Array("provisional".utf8))
    try write("another")
    try file.restore()
    #expect(try text() == "another")
    #expect(directory.names() == ["a"])
  }

  @Test func `the provisional content of another is not replaced`() throws {
    try write("old")
    var file = try ProvisionalFile(path: path)
    try file.replace(with: Array("provisional".utf8))
    let error = SystemError(operation: "replace \(path)", code: EBUSY)
    #expect(throws: error) { _ = try ProvisionalFile(path: path) }
    try file.restore()
    let other = try ProvisionalFile(path: path)
    other.discard()
    #expect(try text() == "old")
  }
}
