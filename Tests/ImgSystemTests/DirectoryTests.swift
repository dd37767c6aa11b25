import Glibc
import ImgSystem
import TestFiles
import Testing

struct DirectoryTests {
  private let root: TestDirectory

  init() throws {
    root = TestDirectory()
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

  @Test func `files have the order of the numbers in their names`() throws {
    let names = ["a.jpg", "img1.jpg", "img2.jpg", "img10.jpg", "img010.jpg", "\u{E4}.jpg"]
    for name in names.shuffled() { try FileIO.replace(path: root.file(name), with: []) }
    let sorted = ["a.jpg", "img010.jpg", "img1.jpg", "img2.jpg", "img10.jpg", "\u{E4}.jpg"]
    let listed = try DirectoryListing(root.path).next(upTo: 10)
    #expect(listed.map { String(decoding: $0.name, as: UTF8.self) } == sorted)
    #expect(Directory.matches("\(root.path)/*.jpg") == sorted.map(root.file))
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
    let error = SystemError(
      operation: "use \(link), which is a symbolic link", code: EPERM, isRefusal: true)
    #expect(throws: error) { try Directory.createPrivate(link + suffix) }
  }

  @Test func `a file in its place is refused`() throws {
    let path = root.file("file")
    try FileIO.replace(path: path, with: [])
    let error = SystemError(
      operation: "use \(path), which is no directory", code: ENOTDIR, isRefusal: true)
    #expect(throws: error) { try Directory.createPrivate(path) }
  }

  @Test(.enabled(if: ThisProcess.userID == 0, "only root can give a directory away"))
  func `another user's directory is refused`() throws {
    let path = root.file("theirs")
    try Directory.createPrivate(path)
    #expect(unsafe chown(path, 65_534, 65_534) == 0)
    let error = SystemError(
      operation: "use \(path), which belongs to user 65534", code: EPERM, isRefusal: true)
    #expect(throws: error) { try Directory.createPrivate(path) }
    #expect(error.sentence == "it would use \(path), which belongs to user 65534")
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

/// Which directories are safe from other users.
struct DirectoryOwnershipTests {
  private static let foreignUserID: UInt32 = 65_534
  private let root: TestDirectory

  init() throws {
    root = TestDirectory()
    try Directory.create(root.file("above/leaf"), mode: 0o755)
  }

  private var above: String { root.file("above") }
  private var leaf: String { root.file("above/leaf") }

  private func expectRefused(
    _ path: String, because reason: String, mayBeForeign: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: SystemError.self, sourceLocation: sourceLocation) {
      try Directory.requireExclusive(path, mayBeForeign: mayBeForeign)
    }
    #expect(error?.code == EPERM, sourceLocation: sourceLocation)
    #expect(error?.operation.contains(reason) == true, sourceLocation: sourceLocation)
  }

  @Test func `a directory that only its owner can write is safe below a sticky one`() throws {
    #expect(unsafe chmod(above, 0o1777) == 0)
    #expect(try Directory.requireExclusive(leaf) == ThisProcess.userID)
    #expect(try Directory.requireExclusive(leaf + "/") == ThisProcess.userID)
    #expect(try Directory.requireExclusive(leaf + "/../leaf/.") == ThisProcess.userID)
  }

  @Test(arguments: [0o777, 0o1777, 0o770, 0o757] as [mode_t])
  func `a directory that others may write is refused with a remedy`(mode: mode_t) throws {
    #expect(unsafe chmod(leaf, mode) == 0)
    // A directory such as /tmp has to stay so.
    let isShared = mode & 0o1000 != 0
    expectRefused(leaf, because: "which other users may write (mode \(String(mode, radix: 8)))")
    let error = #expect(throws: SystemError.self) { try Directory.createPrivate(leaf) }
    #expect(error?.operation.contains("run chmod go-w \(leaf)") == !isShared)
  }

  @Test(arguments: [0o777, 0o775] as [mode_t])
  func `a directory that others may rename is refused`(mode: mode_t) throws {
    #expect(unsafe chmod(above, mode) == 0)
    expectRefused(leaf, because: "use \(above), which other users may write")
    #expect(throws: SystemError.self) { try Directory.createPrivate(leaf) }
  }

  @Test func `nothing is created below a directory that others may write`() throws {
    #expect(unsafe chmod(above, 0o777) == 0)
    let error = #expect(throws: SystemError.self) { try Directory.createPrivate(above + "/a/b") }
    #expect(error?.operation.contains("run chmod go-w \(above)") == true)
    #expect(throws: SystemError.self) { try FileStatus(at: above + "/a") }
  }

  @Test func `an own link is followed, and its target is checked`() throws {
    let link = root.file("link")
    #expect(unsafe symlink("above/leaf", link) == 0)
    #expect(try Directory.requireExclusive(link) == ThisProcess.userID)
    #expect(unsafe chmod(above, 0o777) == 0)
    expectRefused(link, because: "use \(above), which other users may write")
  }

  @Test func `a cycle of links is refused`() throws {
    #expect(unsafe symlink("circle", root.file("circle")) == 0)
    let error = #expect(throws: SystemError.self) {
      try Directory.requireExclusive(root.file("circle"))
    }
    #expect(error?.code == ELOOP)
  }

  @Test func `missing paths and files are distinguished from unsafe directories`() throws {
    try FileIO.replace(path: root.file("file"), with: [])
    for (name, code) in [("file", ENOTDIR), ("missing", ENOENT), ("missing/leaf", ENOENT)] {
      let error = #expect(throws: SystemError.self) {
        try Directory.requireExclusive(root.file(name))
      }
      #expect(error?.code == code)
    }
  }

  @Test(.enabled(if: ThisProcess.userID == 0, "only root can give a directory away"))
  func `another user's directory or link is refused`() throws {
    #expect(unsafe chown(leaf, Self.foreignUserID, Self.foreignUserID) == 0)
    expectRefused(leaf, because: "use \(leaf), which belongs to user \(Self.foreignUserID)")
    // The directory of a test lies in /tmp, where each user creates what it likes.
    expectRefused(leaf, because: "which belongs to user \(Self.foreignUserID)", mayBeForeign: true)
    let link = root.file("link")
    #expect(unsafe symlink(above, link) == 0)
    #expect(unsafe lchown(link, Self.foreignUserID, Self.foreignUserID) == 0)
    expectRefused(link, because: "use \(link), which belongs to user \(Self.foreignUserID)")
  }

  @Test(.enabled(if: ThisProcess.userID == 0, "only root can create a directory in /run"))
  func `a service's directory created by root may belong to another user`() throws {
    let path = "/run/imgctl-test-\(UInt64.random(in: 0...UInt64.max))"
    try Directory.createPrivate(path)
    defer { unsafe rmdir(path) }
    #expect(unsafe chown(path, Self.foreignUserID, Self.foreignUserID) == 0)
    #expect(try Directory.requireExclusive(path, mayBeForeign: true) == Self.foreignUserID)
    expectRefused(path, because: "which belongs to user \(Self.foreignUserID)")
    #expect(unsafe chmod(path, 0o770) == 0)
    expectRefused(path, because: "which other users may write", mayBeForeign: true)
  }
}

/// Directories that take each other's place.
struct DirectoryReplacementTests {
  private let root: TestDirectory
  private var first: String { root.file("first") }
  private var second: String { root.file("second") }

  init() throws {
    root = TestDirectory()
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
}

/// What may be read below a directory.
@Suite(.timeLimit(.minutes(20))) struct FilesBelowTests {
  private let outer: TestDirectory
  private let root: String
  private static let bytes = Array("picture".utf8)

  init() throws {
    outer = TestDirectory()
    root = "\(outer.path)/root"
    for directory in [root, "\(root)/inner"] { #expect(unsafe mkdir(directory, 0o700) == 0) }
    try FileIO.replace(path: "\(root)/a", with: Self.bytes)
    try FileIO.replace(path: "\(outer.path)/secret", with: Self.bytes)
    let links = [
      "near": "a", "inner/up": "../a", "out": "../secret", "absolute": "\(root)/a",
      "away": "/etc", "magic": "/proc/self/root", "loop": "loop",
    ]
    for (name, target) in links {
      #expect(unsafe symlink(target, "\(root)/\(name)") == 0)
    }
    #expect(unsafe mkfifo("\(root)/fifo", 0o600) == 0)
  }

  private func contents(of path: String, upTo limit: Int = 100) throws(SystemError) -> [UInt8] {
    let file = try OpenDirectory(root).openFile(path, named: path, upTo: limit)
    return try FileIO.contents(of: file.rawValue, named: path, upTo: limit)
  }

  @Test(arguments: ["a", "near", "inner/up", "inner//up", "inner/../a"])
  func `a regular file is read, also by links below the directory`(path: String) throws {
    #expect(try contents(of: path) == Self.bytes)
  }

  @Test(arguments: [
    ("out", EXDEV), ("absolute", EXDEV), ("away/hostname", EXDEV), ("magic/etc/hostname", EXDEV),
    ("../secret", EXDEV), ("../root/a", EXDEV), ("/etc/hostname", EXDEV), ("loop", ELOOP),
    ("none", ENOENT), ("", ENOENT), ("a/", ENOTDIR), ("a\0b", EINVAL),
    ("fifo", EINVAL), ("inner", EINVAL),
  ])
  func `other paths are refused`(path: String, code: CInt) {
    let error = #expect(throws: SystemError.self) { try contents(of: path) }
    #expect(error?.code == code)
  }

  @Test func `a device is refused`() {
    let error = #expect(throws: SystemError.self) {
      _ = try OpenDirectory("/dev").openFile("zero", named: "zero", upTo: 100)
    }
    #expect(error?.code == EINVAL)
  }

  @Test func `a file of the maximum size is read, and a larger one is refused`() throws {
    #expect(try contents(of: "a", upTo: Self.bytes.count) == Self.bytes)
    let error = #expect(throws: SystemError.self) {
      try contents(of: "a", upTo: Self.bytes.count - 1)
    }
    #expect(error?.code == EFBIG)
  }
}
