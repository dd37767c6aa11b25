import CLinux
import Glibc

/// A file on the disk that has no name and so goes with its last user: for bytes that are too many
/// for memory. Whoever writes it is done before others read it.
package final class SpoolFile: Sendable {
  private let file: OwnedDescriptor

  /// Makes an empty file on the file system that `directory` lies on.
  ///
  /// - Throws: EOPNOTSUPP where that file system has no files without names (open(2), O_TMPFILE).
  package init(in directory: String) throws(SystemError) {
    file = OwnedDescriptor(
      adopting: try pathCall("open a file without a name in", directory) {
        unsafe img_open_unnamed_file(directory)
      })
  }

  /// To be read from, at any place: nobody keeps a position in it.
  package var descriptor: CInt { file.rawValue }

  /// Adds bytes at the end.
  ///
  /// - Throws: ENOSPC or EDQUOT where the disk has no room, EFBIG beyond RLIMIT_FSIZE.
  package func append(_ bytes: borrowing Span<UInt8>) throws(SystemError) {
    try FileIO.writeAll(file.rawValue, bytes)
  }

  /// The first bytes.
  ///
  /// - Parameter byteCount: how many.
  /// - Throws: EIO when it holds fewer.
  package func contents(byteCount: Int) throws(SystemError) -> [UInt8] {
    try FileIO.contents(of: file.rawValue, first: byteCount)
  }
}
