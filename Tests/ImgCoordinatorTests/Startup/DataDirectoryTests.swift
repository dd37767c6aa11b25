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

  private func take() throws(DataDirectoryError) -> DataDirectory {
    try DataDirectory(taking: directory.file("data"), socketPath: "/socket")
  }

  @Test func `one coordinator owns a directory, and its end frees it`() throws {
    do {
      let first = try take()
      #expect(first.isOwned)
      let error = #expect(throws: DataDirectoryError.self) { _ = try take() }
      let text = error?.description ?? ""
      #expect(text.hasPrefix("another coordinator (process \(ThisProcess.processID)) owns"))
      #expect(text.contains("--socket /socket"))
    }
    #expect(try take().isOwned)
  }

  @Test(arguments: ["data", "data/coordinator.lock"])
  func `a directory whose lock was removed is owned no longer`(part: String) throws {
    let owner = try take()
    try directory.remove(part)
    #expect(!owner.isOwned)
    #expect(try take().isOwned)
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
