import ImgSettings
import ImgSystem

/// The file with the keys of signatures: a key and a salt a line, in hexadecimal digits. Empty lines and lines
/// that begin with `#` do not count.
enum KeyFile {
  private static let maximumByteCount = 65_536

  /// - Throws: ``UsageError`` without the content of the file, because that is secret.
  static func keys(in path: String) throws(UsageError) -> [SigningKey] {
    let (bytes, status): ([UInt8], FileStatus)
    do throws(SystemError) {
      let file = try FileIO.open(readingFrom: path)
      status = try FileStatus(of: file.rawValue)
      bytes = try FileIO.contents(of: file.rawValue, named: path, upTo: maximumByteCount)
    } catch {
      throw UsageError("--key-file: \(path) cannot be read: \(error)")
    }
    guard !status.isOpenToAll else {
      throw UsageError("--key-file: all users can read or change \(path): chmod 600 \(path)")
    }
    var keys: [SigningKey] = []
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      let words = line.split { " \t\r".utf8.contains($0) }
        .map { String(decoding: $0, as: UTF8.self) }
      guard let first = words.first, !first.hasPrefix("#") else { continue }
      do throws(InvalidValue) {
        guard words.count <= 2 else { throw InvalidValue("has more than a key and a salt") }
        keys.append(
          try SigningKey(
            hexadecimalKey: first, hexadecimalSalt: words.count == 2 ? words[1] : ""))
      } catch {
        throw UsageError("--key-file: line \(index + 1) of \(path)", error)
      }
    }
    guard !keys.isEmpty else { throw UsageError("--key-file: \(path) has no key") }
    return keys
  }
}
