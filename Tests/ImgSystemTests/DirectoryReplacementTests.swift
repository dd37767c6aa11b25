import Glibc
import ImgSystem
import TestFiles
import Testing

/// Directories that take each other's place.
struct DirectoryReplacementTests {
  private let root: TestDirectory
  private var first: String { root.file("first") }
  private var second: String { root.file("second") }

  init() throws {
    root = try TestDirectory()
    for path in [first, second] {
      try Directory.createPrivate(path)
      try FileIO.replace(path: path + "/name", with: Array(path.utf8))
    }
  }

  private func name(in directory: String) throws -> String {
    String(decoding: try FileIO.contents(of: directory + "/name", upTo: 4_096), as: UTF8.self)
  }

  @Test func `exchanged directories have each other's files`() throws {
    try Directory.exchange(first, with: second)
    try Directory.sync(root.path)
    #expect(try name(in: first) == second)
    #expect(try name(in: second) == first)
    #expect(throws: SystemError(operation: "exchange \(first)", code: ENOENT)) {
      try Directory.exchange(first, with: root.file("none"))
    }
    #expect(try name(in: first) == second)
  }

  @Test func `a directory moves only to an unused name`() throws {
    #expect(throws: SystemError.self) { try Directory.move(first, to: second) }
    try Directory.move(first, to: root.file("third"))
    #expect(try name(in: root.file("third")) == first)
  }

  @Test func `an open directory stays the same when another takes its name`() throws {
    let opened = try OpenDirectory(first)
    let paths = [first, second, root.file("none")]
    var names = paths.map { opened.isNamed($0) }
    #expect(names == [true, false, false])
    try Directory.exchange(first, with: second)
    let name = try name(in: opened.path)
    #expect(name == first)
    names = paths.map { opened.isNamed($0) }
    #expect(names == [false, true, false])
  }

  @Test(arguments: [("none", ENOENT), ("first/name", ENOTDIR)])
  func `a file is not opened as a directory`(name: String, code: CInt) throws {
    let path = root.file(name)
    #expect(throws: SystemError(operation: "open directory \(path)", code: code)) {
      try open(path)
    }
  }

  private func open(_ path: String) throws {
    _ = try OpenDirectory(path)
  }

  @Test func `links are resolved, permissions copied and owners distinguished`() throws {
    let link = root.file("link")
    #expect(unsafe symlink(first, link) == 0)
    #expect(try Directory.resolve(link) == Directory.resolve(first))
    #expect(throws: SystemError.self) { try Directory.resolve(root.file("none")) }
    #expect(unsafe chmod(first, 0o750) == 0)
    try Directory.copyPermissions(from: first, to: second)
    var status = stat()
    #expect(unsafe stat(second, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o750)
    #expect(try Directory.isOwn(first))
    #expect(try Directory.isOwn("/") == (ThisProcess.userID == 0))
  }

  @Test func `a hard link gives a file a second name`() throws {
    let other = second + "/other"
    try Directory.link(first + "/name", as: other)
    let file = try FileIO.open(appendingTo: other)
    try FileIO.writeAll(file.rawValue, "!")
    #expect(try name(in: first) == first + "!")
  }
}
