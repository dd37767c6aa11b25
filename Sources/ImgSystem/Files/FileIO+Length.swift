import CLinux
import Glibc

/// How long open files are, and how much of them has room on the disk.
extension FileIO {
  /// Opens a file for reading and writing, created for this user alone when there is none.
  ///
  /// - Throws: ELOOP when the path is a symbolic link.
  package static func open(updating path: String) throws(SystemError) -> OwnedDescriptor {
    try open(path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
  }

  /// Cuts a file off, or makes it longer by a hole.
  package static func setByteCount(
    of descriptor: CInt, to byteCount: Int
  ) throws(SystemError) {
    _ = try systemCall("ftruncate") { ftruncate(descriptor, off_t(byteCount)) }
  }

  /// Takes room on the disk for a part of a file, which becomes so long if it is shorter; never
  /// shortens it, whoever writes meanwhile.
  package static func allocate(
    _ range: Range<Int>, of descriptor: CInt
  ) throws(SystemError) {
    // It returns its error (posix_fallocate(3)).
    let code = posix_fallocate(descriptor, off_t(range.lowerBound), off_t(range.count))
    guard code == 0 else { throw SystemError(operation: "posix_fallocate", code: code) }
  }

  /// Takes room on the disk for a part of a file, whose length stays as it is.
  ///
  /// - Throws: EOPNOTSUPP where the file system cannot do that.
  package static func reserve(
    _ range: Range<Int>, of descriptor: CInt
  ) throws(SystemError) {
    _ = try systemCall("fallocate") {
      fallocate(
        descriptor, CInt(IMG_FALLOC_FL_KEEP_SIZE), off_t(range.lowerBound), off_t(range.count))
    }
  }

  /// Writes all bytes at a place of a file or, when it throws, perhaps some of them.
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
