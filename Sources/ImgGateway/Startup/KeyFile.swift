import ImgSettings
import ImgSystem

/// The file with the keys of signatures: a key and a salt a line, in hexadecimal digits. Empty lines and lines
/// that begin with `#` do not count.
///
/// All users can read the secrets of Docker (mode 0444) and of Kubernetes (0644) in their container, which often has
/// one user. So such a file is used, as nginx does, with a note for machines that have more users. ssh(1) refuses it,
/// because such machines are its usual place. A file that another user owns or that all users can change is refused:
/// they could sign.
enum KeyFile {
  private static let maximumByteCount = 65_536

  /// - Parameter note: takes a line for the log.
  /// - Throws: ``UsageError`` without the content of the file, because that is secret.
  static func keys(
    in path: String, note: (String) -> Void
  ) throws(UsageError) -> [SigningKey] {
    let (bytes, status): ([UInt8], FileStatus)
    let trustedUsers: TrustedUsers
    do throws(SystemError) {
      trustedUsers = try TrustedUsers()
      let file = try FileIO.open(readingFrom: path)
      status = try FileStatus(of: file.rawValue)
      bytes = try FileIO.contents(of: file.rawValue, named: path, upTo: maximumByteCount)
    } catch {
      throw UsageError("--key-file: \(path) cannot be read: \(error)")
    }
    guard trustedUsers.contains(status.userID) else {
      throw UsageError(
        "--key-file: \(path) belongs to user \(status.userID), who can change it: chown it to the "
          + "user of the gateway or to root")
    }
    guard !status.isWritableByAll else {
      throw UsageError("--key-file: all users can change \(path): chmod 600 \(path)")
    }
    if status.isReadableByAll {
      note("--key-file: all users of this machine can read \(path); chmod 600 makes it private")
    }
    return try keys(of: bytes, in: path)
  }

  private static func keys(
    of bytes: [UInt8], in path: String
  ) throws(UsageError) -> [SigningKey] {
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
