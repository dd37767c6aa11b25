import Glibc
import ImgSystem
import TestFiles
import Testing

/// What may be read below a directory.
@Suite(.timeLimit(.minutes(20))) struct FilesBelowTests {
  private let outer: TestDirectory
  private let root: String
  private static let bytes = Array("picture".utf8)

  init() throws {
    outer = try TestDirectory()
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
  func `a regular file is read, also through links that stay below the directory`(path: String)
    throws
  {
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
