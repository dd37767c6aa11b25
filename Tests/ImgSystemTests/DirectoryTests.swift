import Glibc
import ImgSystem
import TestFiles
import Testing

struct DirectoryTests {
  private let root: TestDirectory

  init() throws {
    root = try TestDirectory()
  }

  @Test(arguments: ["a", "b/c/d", "e/", "f//g"])
  func `missing directories are created for the owner alone`(name: String) throws {
    let path = root.file(name)
    try Directory.createPrivate(path)
    var status = stat()
    #expect(unsafe lstat(path, &status) == 0)
    #expect(status.st_mode == S_IFDIR | 0o700)
    try Directory.createPrivate(path)
  }

  @Test func `an existing own directory keeps its mode`() throws {
    #expect(unsafe chmod(root.path, 0o755) == 0)
    try Directory.createPrivate(root.path)
    var status = stat()
    #expect(unsafe lstat(root.path, &status) == 0)
    #expect(status.st_mode == S_IFDIR | 0o755)
  }

  @Test(arguments: ["", "/"])
  func `a symbolic link is refused, even to an own directory`(suffix: String) throws {
    let link = root.file("link")
    #expect(unsafe symlink(root.path, link) == 0)
    #expect(throws: SystemError(operation: "create directory \(link)", code: EPERM)) {
      try Directory.createPrivate(link + suffix)
    }
  }

  @Test func `a file in its place is refused`() throws {
    let path = root.file("file")
    try FileIO.replace(path: path, with: [])
    #expect(throws: SystemError(operation: "create directory \(path)", code: ENOTDIR)) {
      try Directory.createPrivate(path)
    }
  }

  @Test(.enabled(if: ThisProcess.userID == 0, "only root can give a directory away"))
  func `another user's directory is refused`() throws {
    let path = root.file("theirs")
    try Directory.createPrivate(path)
    #expect(unsafe chown(path, 65_534, 65_534) == 0)
    #expect(throws: SystemError(operation: "create directory \(path)", code: EPERM)) {
      try Directory.createPrivate(path)
    }
  }

  @Test func `a directory is created with its parents and may exist`() throws {
    let path = root.file("a/b")
    try Directory.create(path)
    try Directory.create(path)
    var status = stat()
    #expect(unsafe lstat(path, &status) == 0)
    #expect(status.st_mode & S_IFMT == S_IFDIR)
    try FileIO.replace(path: root.file("file"), with: [])
    #expect(throws: SystemError.self) { try Directory.create(root.file("file")) }
  }
}
