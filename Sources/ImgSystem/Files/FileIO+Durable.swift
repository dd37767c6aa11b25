import Glibc

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
