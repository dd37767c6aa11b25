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

  /// The next bytes of a regular file or a pipe, which are read again by the next read. Waits for the first one.
  ///
  /// - Returns: fewer at the end, or where a pipe has no more yet; none of another kind of file.
  package static func peek(_ descriptor: CInt, upTo byteCount: Int) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    let position = lseek(descriptor, 0, SEEK_CUR)
    if position >= 0 {
      _ = try? unsafe append(to: &bytes, upTo: byteCount, operation: "pread") { bytes in
        unsafe pread(descriptor, bytes.baseAddress, bytes.count, position)
      }
    } else {
      var copy = try OutputPipe()
      if img_tee(descriptor, copy.writerDescriptor, byteCount) > 0 {
        let reader = copy.takeReader()
        _ = try OutputPipe.read(reader.rawValue, into: &bytes)
      }
    }
    return bytes
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

/// Small files that must survive a power cut, or must leave no trace when removed.
extension FileIO {
  /// Writes `bytes` to the file at `path`, readable only by this user, and waits until they are on
  /// the disk. For the file's name, see ``Directory/sync(_:)``. An existing file is overwritten in
  /// place, so that ``erase(_:)`` overwrites all its content. A crash may leave a part.
  ///
  /// - Throws: ELOOP for a symbolic link.
  package static func writeDurably(
    _ bytes: borrowing Span<UInt8>, to path: String
  ) throws(SystemError) {
    let file = try open(path, O_WRONLY | O_CREAT | O_NOFOLLOW, mode: 0o600)
    try writeAll(file.rawValue, bytes, at: 0)
    try setByteCount(of: file.rawValue, to: bytes.count)
    _ = try pathCall("fsync", path) { fsync(file.rawValue) }
  }

  /// Overwrites the file at `path` with zeros, waits until they are on the disk, and removes the
  /// file. Removal alone would leave the bytes in free blocks. Succeeds if there is no file.
  ///
  /// A file system that never overwrites in place, such as btrfs, keeps the old blocks until it
  /// reuses them.
  package static func erase(_ path: String) throws(SystemError) {
    do throws(SystemError) {
      let file = try open(path, O_WRONLY | O_NOFOLLOW)
      let byteCount = try FileStatus(of: file.rawValue).byteCount
      try writeAll(file.rawValue, [UInt8](repeating: 0, count: byteCount).span, at: 0)
      _ = try pathCall("fsync", path) { fsync(file.rawValue) }
      _ = try pathCall("unlink", path) { unsafe unlink(path) }
    } catch {
      guard error.code == ENOENT else { throw error }
    }
  }
}

/// The length of open files and their space on the disk.
extension FileIO {
  /// Opens a file for reading and writing, and creates it with mode 0600 if it is missing.
  ///
  /// - Throws: ELOOP for a symbolic link.
  package static func open(updating path: String) throws(SystemError) -> OwnedDescriptor {
    try open(path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
  }

  /// Truncates a file, or extends it with a hole.
  package static func setByteCount(
    of descriptor: CInt, to byteCount: Int
  ) throws(SystemError) {
    _ = try systemCall("ftruncate") { ftruncate(descriptor, off_t(byteCount)) }
  }

  /// Allocates disk space for a part of a file, and extends a shorter file. Never truncates it,
  /// even if another process writes at the same time.
  package static func allocate(
    _ range: Range<Int>, of descriptor: CInt
  ) throws(SystemError) {
    // posix_fallocate(3) returns its error instead of setting errno.
    let code = posix_fallocate(descriptor, off_t(range.lowerBound), off_t(range.count))
    guard code == 0 else { throw SystemError(operation: "posix_fallocate", code: code) }
  }

  /// Allocates disk space for a part of a file without changing the file's length.
  ///
  /// - Throws: EOPNOTSUPP if the file system does not support it.
  package static func reserve(
    _ range: Range<Int>, of descriptor: CInt
  ) throws(SystemError) {
    _ = try systemCall("fallocate") {
      fallocate(
        descriptor, CInt(IMG_FALLOC_FL_KEEP_SIZE), off_t(range.lowerBound), off_t(range.count))
    }
  }

  /// Writes all bytes at an offset of a file. After an error, some may be written.
  package static func writeAll(
    _ descriptor: CInt, _ bytes: borrowing Span<UInt8>, at offset: Int
  ) throws(SystemError) {
    var written = 0
    while written < bytes.count {
      let rest = bytes.extracting(droppingFirst: written)
      written += try systemCall("pwrite") {
        unsafe rest.withUnsafeBytes {
          unsafe pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset + written))
        }
      }
    }
  }
}

extension FileIO {
  /// Opens a log for appending. A log larger than `maximumByteCount` is truncated first.
  package static func open(
    log path: String, truncatedAbove maximumByteCount: Int
  ) throws(SystemError) -> OwnedDescriptor {
    let log = try open(appendingTo: path)
    if try FileStatus(of: log.rawValue).byteCount > maximumByteCount {
      try setByteCount(of: log.rawValue, to: 0)
    }
    return log
  }

  /// Redirects a stream to a new file at `path` if its log file was removed.
  ///
  /// - Parameter streams: the descriptors that may be logs. Other kinds of files are left alone.
  package static func renewLog(
    at path: String, for streams: [CInt] = [1, 2]
  ) throws(SystemError) {
    for stream in streams {
      // A stream may be closed.
      guard let status = try? FileStatus(of: stream), status.isRegularFile, !status.hasName
      else { continue }
      let log = try open(appendingTo: path)
      _ = try systemCall("dup2") { dup2(log.rawValue, stream) }
    }
  }
}

extension FileIO {
  /// Replaces the content of the file at `path` atomically: readers see the old or the new content.
  /// A symbolic link is replaced, not followed; see ``resolvingLinks(_:)``. The new file has the rights of
  /// the file that it replaces.
  ///
  /// Writes to a file that is not regular, such as /dev/stdout or a pipe. The content survives a
  /// crash of this process, but possibly not a power cut.
  package static func replace(
    path: String, with bytes: borrowing Span<UInt8>
  ) throws(SystemError) {
    // If the status cannot be read, the calls below report the reason.
    if let status = try? FileStatus(following: path), !status.isRegularFile {
      let special = try open(path, O_WRONLY)
      return try writeAll(special.rawValue, bytes)
    }
    _ = try replaceRegular(path: path, with: bytes, isLocked: false)
  }

  /// Replaces the content of a regular file, see ``replace(path:with:)``. The new file is locked as
  /// ``FileLock`` does it.
  ///
  /// - Returns: the new file, which is locked until it closes.
  static func replaceLocked(
    path: String, with bytes: borrowing Span<UInt8>
  ) throws(SystemError) -> OwnedDescriptor {
    try replaceRegular(path: path, with: bytes, isLocked: true)
  }

  private static func replaceRegular(
    path: String, with bytes: borrowing Span<UInt8>, isLocked: Bool
  ) throws(SystemError) -> OwnedDescriptor {
    let replacement = try ReplacementFile(path: path)
    if isLocked { try replacement.lock() }
    do throws(SystemError) {
      try writeAll(replacement.descriptor, bytes)
    } catch {
      throw SystemError(operation: "write \(path)", code: error.code)
    }
    return try replacement.commit()
  }

  /// Replaces the content of a regular file atomically, or creates it, in a directory that others may
  /// have filled, see ``ReplacementFile``.
  ///
  /// - Throws: EEXIST where ``replace(path:with:)`` would write to a file that is not regular.
  package static func replaceRegular(path: String, with bytes: [UInt8]) throws(SystemError) {
    _ = try replaceRegular(path: path, with: bytes.span, isLocked: false)
  }

  /// Notices early that ``replace(path:with:)`` could not write, by an attempt to make its temporary file.
  ///
  /// - Throws: the error that the attempt to write would report.
  package static func checkReplaceable(path: String) throws(SystemError) {
    let status = try? FileStatus(following: path)
    guard status?.isDirectory != true else {
      throw SystemError(operation: "write \(path)", code: EISDIR)
    }
    guard status?.isRegularFile ?? true else {
      // A file that is not regular, such as a pipe, keeps its place and is written itself.
      _ = try pathCall("write", path) { unsafe faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) }
      return
    }
    _ = try ReplacementFile(path: path)
  }

  /// Replaces the content of the file at `path` atomically.
  package static func replace(path: String, with bytes: [UInt8]) throws(SystemError) {
    try replace(path: path, with: bytes.span)
  }

  /// The path that a path stands for if it names a symbolic link. There need not be a file.
  ///
  /// - Throws: ELOOP after 40 links, the limit of Linux (path_resolution(7)).
  package static func resolvingLinks(_ path: String) throws(SystemError) -> String {
    var resolved = path
    for _ in 0..<40 {
      guard let status = try? FileStatus(at: resolved), status.isSymbolicLink else {
        return resolved
      }
      let target = try target(ofLink: resolved)
      resolved = target.hasPrefix("/") ? target : directory(of: resolved) + target
    }
    throw SystemError(operation: "open \(path)", code: ELOOP)
  }

  /// The part of a path before the name, with its last slash; empty for the current directory.
  static func directory(of path: String) -> Substring {
    path.lastIndex(of: "/").map { path[...$0] } ?? ""
  }
}

/// Properties of a terminal.
package enum Terminal {
  package static func isTerminal(_ descriptor: CInt) -> Bool {
    isatty(descriptor) == 1
  }

  /// The width in characters; `nil` if it is not a terminal or does not report one.
  package static func columns(_ descriptor: CInt) -> Int? {
    let columns = img_terminal_columns(descriptor)
    return columns > 0 ? Int(columns) : nil
  }
}
