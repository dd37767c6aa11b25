import FoundationEssentials
import TestOrigin
import Testing

struct ServedDirectoryTests: ~Copyable {
  private let parent: URL
  private let directory: ServedDirectory

  init() throws {
    let manager = FileManager.default
    parent = manager.temporaryDirectory.appending(path: "served-\(UUID().uuidString)")
    let root = parent.appending(path: "root")
    try manager.createDirectory(
      at: root.appending(path: "sub"), withIntermediateDirectories: true)
    try Data("outside".utf8).write(to: parent.appending(path: "secret.txt"))
    try Data("picture".utf8).write(to: root.appending(path: "sub/a b%.JPG"))
    try Data("plain".utf8).write(to: root.appending(path: "unknown"))
    try manager.createSymbolicLink(
      at: root.appending(path: "link.txt"),
      withDestinationURL: parent.appending(path: "secret.txt"))
    directory = try #require(ServedDirectory(root.path))
  }

  deinit {
    // A directory that cannot be removed is left to the system.
    try? FileManager.default.removeItem(at: parent)
  }

  @Test func `every path listed is served with the type of its suffix`() throws {
    #expect(try directory.paths() == ["/link.txt", "/sub/a%20b%25.JPG", "/unknown"])
    let picture = try response("/sub/a%20b%25.JPG")
    #expect(picture.body == Array("picture".utf8))
    #expect(picture.headers == [Header("Content-Type", "image/jpeg")])
    #expect(
      try response("/unknown").headers == [Header("Content-Type", "application/octet-stream")])
  }

  @Test(arguments: [
    "/../secret.txt", "/sub/../../secret.txt", "/%2e%2e/secret.txt", "/link.txt", "/nothing", "/",
    "/sub", "/unknown%00", "/%zz", "",
  ])
  func `nothing outside and nothing but files is served`(path: String) {
    #expect(directory.behaviour(for: path) == nil)
  }

  private func response(_ path: String) throws -> Response {
    guard case .response(let response)? = directory.behaviour(for: path) else {
      throw Missing(path: path)
    }
    return response
  }

  private struct Missing: Error {
    let path: String
  }
}
