import Glibc
import ImgSystem
import TestFiles
import Testing

@testable import ImgStore

/// A store's directory that another user could have prepared.
struct UnsafeDirectoryTests {
  private static let victimBytes = Array("a file that is not the store's\n".utf8)
  private let directory: TestDirectory
  private var path: String { directory.path + "/store" }

  init() throws {
    directory = try TestDirectory()
    _ = try ThumbnailStore(directory)
  }

  private func expectRefused(
    _ access: ThumbnailStore.Access, because reason: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let error = #expect(throws: StoreError.self, sourceLocation: sourceLocation) {
      try ThumbnailStore(directory: path, access: access)
    }
    #expect(error?.reason == .notPermitted, sourceLocation: sourceLocation)
    #expect(error?.description.contains(reason) == true, sourceLocation: sourceLocation)
  }

  private static let accesses: [ThumbnailStore.Access] = [
    .readOnly, .readWrite(budgetByteCount: 1 << 20),
  ]

  @Test(arguments: ["data.mdb", "lock.mdb"], Self.accesses)
  func `a symbolic link as a file of the store is refused, and its target stays`(
    name: String, access: ThumbnailStore.Access
  ) throws {
    let victim = directory.path + "/victim"
    try FileIO.replace(path: victim, with: Self.victimBytes)
    #expect(unsafe unlink("\(path)/\(name)") == 0)
    #expect(unsafe symlink(victim, "\(path)/\(name)") == 0)
    expectRefused(access, because: "open \(path)/\(name), which is not a regular file")
    #expect(try FileIO.contents(of: victim, upTo: 1_000) == Self.victimBytes)
  }

  @Test(arguments: Self.accesses)
  func `a directory that other users can write is refused`(
    access: ThumbnailStore.Access
  ) throws {
    #expect(unsafe chmod(path, 0o777) == 0)
    expectRefused(access, because: "run chmod go-w \(path)")
    #expect(unsafe chmod(path, 0o700) == 0)
    #expect(unsafe chmod(directory.path, 0o777) == 0)
    expectRefused(access, because: "run chmod go-w \(directory.path)")
  }
}
