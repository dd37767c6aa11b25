import FoundationEssentials
import Glibc

/// A directory of its own for one test, removed with everything in it when the test lets go of it.
final class TemporaryDirectory {
  let path: String

  init() throws {
    var template = Array("/tmp/imgctl-worker-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else {
      throw CocoaError(.fileWriteUnknown)
    }
    path = String(
      decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    // A directory that is left behind in /tmp is no failure of the test.
    try? FileManager.default.removeItem(atPath: path)
  }
}
