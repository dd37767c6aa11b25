import FoundationEssentials
import Glibc
import ImgCommands
import ImgSystem
import Testing

@Suite struct ListFileTests {
  /// Runs `body` in a directory of its own, which is removed at the end.
  private func withDirectory(_ body: (String) throws -> Void) throws {
    let directory = FileManager.default.temporaryDirectory.path + "/lists-\(UUID())"
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    try body(directory)
  }

  @Test func `a file is read to its end`() throws {
    try withDirectory { directory in
      let path = directory + "/urls.txt"
      let urls = (0..<20_000).map { "https://example.org/\($0).jpg" }
      try FileIO.replace(path: path, with: Array(urls.joined(separator: "\n").utf8))
      var list = try ListFile(path: path)
      var found: [String] = []
      while let batches = try list.next() { found += batches.flatMap(\.self) }
      #expect(found == urls)
      #expect(try list.next() == nil)
    }
  }

  @Test func `a missing file is named`() throws {
    #expect {
      _ = try ListFile(path: "/nowhere/urls.txt")
    } throws: { error in
      "\(error)" == "open /nowhere/urls.txt: No such file or directory (ENOENT)"
    }
  }

  @Test func `a directory is not a list`() throws {
    try withDirectory { directory in
      #expect(
        throws: ListError.unreadable(reason: "open \(directory): Is a directory (EISDIR)")
      ) { _ = try ListFile(path: directory) }
    }
  }
}
