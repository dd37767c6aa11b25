import Glibc
import ImgSystem

/// A file or standard input that a command reads.
struct InputFile: ~Copyable {
  /// Closes a file at the end; `nil` for standard input, which stays open.
  private let file: OwnedDescriptor?
  let descriptor: CInt
  /// The name in messages.
  let name: String

  /// Opens the file with the rights of this process.
  ///
  /// - Parameter path: `-` for standard input.
  init(path: String) throws(SystemError) {
    guard path != "-" else {
      file = nil
      descriptor = STDIN_FILENO
      name = "standard input"
      return
    }
    let opened = try FileIO.open(readingFrom: path)
    descriptor = opened.rawValue
    file = consume opened
    name = path
  }

  /// Finds out whether a file can be opened. Opens no pipe, because its writer goes on once it has a reader.
  static func check(path: String) throws(SystemError) {
    guard path != "-" else { return }
    let status = try FileStatus(following: path)
    guard status.isRegularFile || status.isDirectory else { return }
    _ = try InputFile(path: path)
  }

  /// Waits for bytes and appends them to `buffer`.
  ///
  /// - Returns: the number of bytes; 0 at the end.
  func read(
    into buffer: inout [UInt8], upTo maximumByteCount: Int
  ) throws(SystemError) -> Int {
    try FileIO.read(descriptor, into: &buffer, upTo: maximumByteCount)
  }
}
