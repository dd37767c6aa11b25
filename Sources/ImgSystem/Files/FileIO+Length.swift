import CLinux
import Glibc

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
