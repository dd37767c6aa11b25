import Glibc
import ImgSystem
import TestFiles
import Testing

/// Which directories are safe from other users.
struct DirectoryOwnershipTests {
  private static let foreignUserID: UInt32 = 65_534
  private let root: TestDirectory

  init() throws {
    root = try TestDirectory()
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
    expectRefused(leaf, because: "run chmod go-w \(leaf)")
    #expect(throws: SystemError.self) { try Directory.createPrivate(leaf) }
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
