import FoundationEssentials
import ImgSystem
import TestFiles
import Testing

@testable import ImgCoordinator

@Suite struct DataDirectoryTests {
  private let directory: TestDirectory

  init() throws {
    directory = try TestDirectory()
  }

  private static func take(_ path: String) throws(DataDirectoryError) -> DataDirectory {
    try DataDirectory(taking: path, socketPath: "/socket")
  }

  /// In a process of its own: children of this one, which other tests start, hold its locks from
  /// their fork to their exec.
  @Test func `one coordinator owns a directory, and its end frees it`() async {
    await #expect(processExitsWith: .success) { [path = directory.file("data") as String] in
      do {
        let first = try Self.take(path)
        #expect(first.isOwned)
        let error = #expect(throws: DataDirectoryError.self) { _ = try Self.take(path) }
        let text = error?.description ?? ""
        #expect(text.hasPrefix("another coordinator (process \(ThisProcess.processID)) owns"))
        #expect(text.contains("--socket /socket"))
      }
      #expect(try Self.take(path).isOwned)
    }
  }

  @Test(arguments: ["data", "data/coordinator.lock"])
  func `a directory whose lock was removed is owned no longer`(part: String) throws {
    let owner = try Self.take(directory.file("data"))
    try directory.remove(part)
    #expect(!owner.isOwned)
    #expect(try Self.take(directory.file("data")).isOwned)
    #expect(!owner.isOwned)
  }

  @Test func `a directory that cannot be made is named with the reason`() {
    let error = #expect(throws: DataDirectoryError.self) {
      _ = try DataDirectory(taking: "/dev/null/data", socketPath: "/socket")
    }
    #expect(
      error?.description.hasPrefix("the data directory /dev/null/data cannot be used") == true)
  }
}
