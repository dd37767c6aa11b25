import FoundationEssentials
import Glibc

/// A directory for one test. It is removed with its content when the test releases it.
///
/// Its path is short, because the path of a socket inside has at most 107 bytes.
package final class TestDirectory: Sendable {
  package let path: String

  /// Where all such directories are made.
  package static let standardParent =
    ProcessInfo.processInfo.environment["IMGCTL_TEST_DIRECTORY"] ?? "/tmp"

  /// Ends the process where it cannot be made: there is no test without its files.
  package init(in parent: String = standardParent) {
    var template = Array("\(parent)/imgctl-XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else { fatalError("\(parent) takes no directory") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    // A directory that is left behind in /tmp is no failure of the test.
    try? FileManager.default.removeItem(atPath: path)
  }

  /// The path of a file inside, there or not.
  package func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Removes a file.
  package func remove(_ name: String) throws {
    try FileManager.default.removeItem(atPath: file(name))
  }

  /// The names of what is inside, sorted.
  package func names() -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }

  /// Makes a file of these bytes.
  ///
  /// - Returns: its path.
  package func write(_ bytes: [UInt8], to name: String) throws -> String {
    try Data(bytes).write(to: URL(filePath: file(name)))
    return file(name)
  }

  /// Writes a file with a mode of chmod(1).
  package func write(_ bytes: [UInt8], to name: String, mode: UInt32) throws -> String {
    let path = try write(bytes, to: name)
    try FileManager.default.setAttributes([.posixPermissions: Int(mode)], ofItemAtPath: path)
    return path
  }
}
