import CLinux
import Glibc

/// Blocking reads and writes of files and streams.
package enum FileIO {
  /// Opens a file, a pipe or a device for reading.
  ///
  /// - Throws: EISDIR for a directory, which open(2) would accept and read(2) refuse.
  package static func open(readingFrom path: String) throws(SystemError) -> OwnedDescriptor {
    let descriptor = try open(path, O_RDONLY)
    if try FileStatus(of: descriptor.rawValue).isDirectory {
      throw SystemError(operation: "open \(path)", code: EISDIR)
    }
    return descriptor
  }

  /// A descriptor that names a file or directory and gives no access to its contents (open(2), O_PATH).
  /// Follows symbolic links.
  package static func open(naming path: String) throws(SystemError) -> OwnedDescriptor {
    try open(path, CInt(IMG_O_PATH))
  }

  /// Whether a path exists and is not a directory. `false` if this process may not see it.
  package static func isFile(_ path: String) -> Bool {
    (try? FileStatus(following: path)).map { !$0.isDirectory } ?? false
  }

  /// Opens a file for appending, and creates it with `mode` if it is missing.
  ///
  /// - Throws: ELOOP for a symbolic link.
  package static func open(
    appendingTo path: String, mode: UInt32 = 0o600
  ) throws(SystemError) -> OwnedDescriptor {
    try open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, mode: mode)
  }

  /// Creates or truncates a file for writing.
  package static func create(_ path: String) throws(SystemError) -> OwnedDescriptor {
    try open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o666)
  }

  /// Waits for bytes and appends them to `buffer`, at most `maximumByteCount`.
  ///
  /// - Returns: the number of bytes; 0 at the end.
  package static func read(
    _ descriptor: CInt, into buffer: inout [UInt8], upTo maximumByteCount: Int
  ) throws(SystemError) -> Int {
    precondition(maximumByteCount > 0, "reading nothing cannot be told from the end")
    while true {
      do {
        return try unsafe append(to: &buffer, upTo: maximumByteCount, operation: "read") { bytes in
          unsafe Glibc.read(descriptor, bytes.baseAddress, bytes.count)
        }
      } catch {
        // Another process that shares standard input may have made it non-blocking.
        guard error.code == EAGAIN else { throw error }
        _ = try waitForEvents(POLLIN, on: descriptor, until: nil)
      }
    }
  }

  /// The bytes of a whole file.
  ///
  /// - Throws: EFBIG if the file has more than `maximumByteCount`.
  package static func contents(
    of path: String, upTo maximumByteCount: Int
  ) throws(SystemError) -> [UInt8] {
    let file = try open(readingFrom: path)
    return try contents(of: file.rawValue, named: path, upTo: maximumByteCount)
  }

  /// Reads an open file to its end.
  ///
  /// - Parameter name: the name in errors.
  /// - Throws: EFBIG if the file has more than `maximumByteCount`.
  package static func contents(
    of descriptor: CInt, named name: String, upTo maximumByteCount: Int
  ) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count <= maximumByteCount {
      let room = min(maximumByteCount + 1 - bytes.count, 1 << 16)
      if try read(descriptor, into: &bytes, upTo: room) == 0 { return bytes }
    }
    throw SystemError(operation: "read \(name)", code: EFBIG)
  }

  /// Reads a part of an open file without moving its position. Returns fewer bytes if the file ends
  /// before.
  package static func contents(
    of descriptor: CInt, in range: Range<Int>
  ) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < range.count {
      let offset = off_t(range.lowerBound + bytes.count)
      let count = try unsafe append(
        to: &bytes, upTo: range.count - bytes.count, operation: "pread"
      ) { room in
        unsafe pread(descriptor, room.baseAddress, room.count, offset)
      }
      guard count > 0 else { break }
    }
    return bytes
  }

  /// Reads the first bytes of an open file without moving its position, which other users of the
  /// open file share.
  ///
  /// - Throws: EIO if the file has fewer bytes.
  static func contents(
    of descriptor: CInt, first byteCount: Int
  ) throws(SystemError) -> [UInt8] {
    let bytes = try contents(of: descriptor, in: 0..<byteCount)
    guard bytes.count == byteCount else { throw SystemError(operation: "pread", code: EIO) }
    return bytes
  }

  /// Writes all bytes. Blocks while a pipe is full.
  package static func writeAll(
    _ descriptor: CInt, _ bytes: borrowing Span<UInt8>
  ) throws(SystemError) {
    var written = 0
    while written < bytes.count {
      do {
        let rest = bytes.extracting(droppingFirst: written)
        written += try systemCall("write") {
          unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
        }
      } catch {
        // Another process that shares standard output may have made it non-blocking.
        guard error.code == EAGAIN else { throw error }
        _ = try waitForEvents(CInt(POLLOUT), on: descriptor, until: nil)
      }
    }
  }

  /// Writes all bytes of an array. Blocks while a pipe is full.
  package static func writeAll(_ descriptor: CInt, _ bytes: [UInt8]) throws(SystemError) {
    try writeAll(descriptor, bytes.span)
  }

  /// Writes a text as UTF-8. Blocks while a pipe is full.
  package static func writeAll(_ descriptor: CInt, _ text: String) throws(SystemError) {
    try writeAll(descriptor, Array(text.utf8).span)
  }

  /// The target of a symbolic link, not resolved.
  static func target(ofLink path: String) throws(SystemError) -> String {
    var characters = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = try pathCall("readlink", path) {
      unsafe readlink(path, &characters, characters.count)
    }
    return String(decoding: characters.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  static func open(
    _ path: String, _ flags: CInt, mode: UInt32 = 0
  ) throws(SystemError) -> OwnedDescriptor {
    OwnedDescriptor(
      adopting: try pathCall("open", path) {
        unsafe Glibc.open(path, flags | O_CLOEXEC | O_NOCTTY, mode)
      })
  }
}
