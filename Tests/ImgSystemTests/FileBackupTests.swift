import Glibc
import ImgSystem
import TestFiles
import Testing

/// Files that are replaced and perhaps put back.
struct FileBackupTests {
  private let directory: TestDirectory
  private let path: String

  init() throws {
    directory = try TestDirectory()
    path = directory.file("a")
  }

  private func text(_ path: String) throws -> String {
    String(decoding: try FileIO.contents(of: path, upTo: 100), as: UTF8.self)
  }

  @Test func `a file that was replaced is put back, with its rights`() throws {
    try FileIO.replace(path: path, with: Array("old".utf8))
    unsafe chmod(path, 0o600)
    let backup = try FileBackup(of: path)
    try FileIO.replace(path: path, with: Array("new".utf8))
    #expect(try text(path) == "new")
    try backup.restore()
    #expect(try text(path) == "old")
    var status = stat()
    unsafe stat(path, &status)
    #expect(status.st_mode & 0o777 == 0o600)
    #expect(status.st_nlink == 1)
  }

  @Test func `what replaced no file is removed`() throws {
    let backup = try FileBackup(of: path)
    try FileIO.replace(path: path, with: Array("new".utf8))
    try backup.restore()
    #expect(!FileIO.isFile(path))
  }

  @Test func `a symbolic link is put back as a link`() throws {
    let target = directory.file("target")
    try FileIO.replace(path: target, with: Array("old".utf8))
    unsafe symlink(target, path)
    let backup = try FileBackup(of: path)
    try FileIO.replace(path: path, with: Array("new".utf8))
    #expect(try text(target) == "old")
    try backup.restore()
    try FileIO.replace(path: target, with: Array("other".utf8))
    #expect(try text(path) == "other")
  }

  @Test func `a backup that is not needed leaves nothing behind`() throws {
    try FileIO.replace(path: path, with: Array("old".utf8))
    let backup = try FileBackup(of: path)
    try FileIO.replace(path: path, with: Array("new".utf8))
    backup.discard()
    #expect(try text(path) == "new")
    var status = stat()
    unsafe stat(path, &status)
    #expect(status.st_nlink == 1)
  }
}
