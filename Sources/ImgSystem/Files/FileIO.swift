import Glibc

/// Reading and writing whole files and streams, for blocking users.
package enum FileIO {
  /// Opens a file, a pipe or a device for reading.
  ///
  /// - Throws: EISDIR for a directory, which open(2) would give and read(2) refuse.
  package static func open(readingFrom path: String) throws(SystemError) -> OwnedDescriptor {
    let descriptor = try open(path, O_RDONLY)
    if try FileStatus(of: descriptor.rawValue).isDirectory {
      throw SystemError(operation: "open \(path)", code: EISDIR)
    }
    return descriptor
  }

  /// Whether a path leads to something other than a directory, as far as this process may see.
  package static func isFile(_ path: String) -> Bool {
    (try? FileStatus(following: path)).map { !$0.isDirectory } ?? false
  }

  /// Opens a file for adding at its end, created with `mode` when there is none.
  ///
  /// - Throws: ELOOP when the path is a symbolic link.
  package static func open(
    appendingTo path: String, mode: UInt32 = 0o600
  ) throws(SystemError) -> OwnedDescriptor {
    try open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, mode: mode)
  }

  /// Opens a file for writing from its beginning; what it held is gone.
  package static func create(_ path: String) throws(SystemError) -> OwnedDescriptor {
    try open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o666)
  }

  /// The same for a file that its owner alone may read, also where it exists with another mode.
  ///
  /// - Throws: ELOOP where a symbolic link is in its place.
  package static func createPrivate(_ path: String) throws(SystemError) -> OwnedDescriptor {
    let file = try open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode: 0o600)
    _ = try pathCall("fchmod", path) { fchmod(file.rawValue, 0o600) }
    return file
  }

  /// Appends what comes next to `buffer`, at most `maximumByteCount` bytes; waits for it.
  ///
  /// - Returns: how many bytes came; 0 at the end.
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
        // Whoever shares our standard input may have made it non-blocking.
        guard error.code == EAGAIN else { throw error }
        _ = try waitForEvents(POLLIN, on: descriptor, until: nil)
      }
    }
  }

  /// The bytes of a whole file.
  ///
  /// - Throws: EFBIG when it holds more than `maximumByteCount`.
  package static func contents(
    of path: String, upTo maximumByteCount: Int
  ) throws(SystemError) -> [UInt8] {
    let file = try open(readingFrom: path)
    return try contents(of: file.rawValue, named: path, upTo: maximumByteCount)
  }

  /// The bytes that come up to the end of an open file; waits for them.
  ///
  /// - Parameter name: for errors.
  /// - Throws: EFBIG when it holds more than `maximumByteCount`.
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

  /// The bytes in a part of an open file, whose position stays; fewer where the file ends before.
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

  /// The first bytes of an open file, whose position stays: it is everybody's who has the file open.
  ///
  /// - Throws: EIO when there are fewer.
  static func contents(
    of descriptor: CInt, first byteCount: Int
  ) throws(SystemError) -> [UInt8] {
    let bytes = try contents(of: descriptor, in: 0..<byteCount)
    guard bytes.count == byteCount else { throw SystemError(operation: "pread", code: EIO) }
    return bytes
  }

  /// Writes all bytes, waiting for room as often as needed.
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
        // Whoever shares our standard output may have made it non-blocking.
        guard error.code == EAGAIN else { throw error }
        _ = try waitForEvents(CInt(POLLOUT), on: descriptor, until: nil)
      }
    }
  }

  /// Writes all bytes of an array, waiting for room as often as needed.
  package static func writeAll(_ descriptor: CInt, _ bytes: [UInt8]) throws(SystemError) {
    try writeAll(descriptor, bytes.span)
  }

  /// Writes a text as UTF-8, waiting for room as often as needed.
  package static func writeAll(_ descriptor: CInt, _ text: String) throws(SystemError) {
    try writeAll(descriptor, Array(text.utf8).span)
  }

  /// Where a symbolic link leads, as it is written there.
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
