import CLinux
import Glibc

/// An unnamed temporary file on the disk, for bytes that are too many for memory. It disappears
/// with its last descriptor. Write it completely before reading it.
package final class SpoolFile: Sendable {
  private let file: OwnedDescriptor

  /// Creates an empty file on the file system of `directory`.
  ///
  /// - Throws: EOPNOTSUPP if the file system has no unnamed files (open(2), O_TMPFILE).
  package init(in directory: String) throws(SystemError) {
    file = OwnedDescriptor(
      adopting: try pathCall("open an unnamed file in", directory) {
        unsafe img_open_unnamed_file(directory)
      })
  }

  /// The descriptor for reads at any offset. No code uses its position.
  package var descriptor: CInt { file.rawValue }

  /// Appends bytes.
  ///
  /// - Throws: ENOSPC or EDQUOT if the disk is full, EFBIG beyond RLIMIT_FSIZE.
  package func append(_ bytes: borrowing Span<UInt8>) throws(SystemError) {
    try FileIO.writeAll(file.rawValue, bytes)
  }

  /// The first bytes of the file.
  ///
  /// - Throws: EIO if it has fewer than `byteCount`.
  package func contents(byteCount: Int) throws(SystemError) -> [UInt8] {
    try FileIO.contents(of: file.rawValue, first: byteCount)
  }
}
