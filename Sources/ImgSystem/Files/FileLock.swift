import CLinux
import Glibc

/// A file that one process at a time holds locked, with its process ID inside.
///
/// The lock belongs to the open file (fcntl_locking(2), "Open file description locks"): it ends
/// with the last descriptor of it, however the process ends, and the file stays.
package enum FileLock {
  /// Takes the lock and writes our process ID; never waits.
  ///
  /// - Returns: the descriptor that holds the lock, or `nil` when another does.
  package static func acquire(path: String) throws(SystemError) -> OwnedDescriptor? {
    let file = try FileIO.open(path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
    do {
      _ = try systemCall("lock \(path)") { img_lock_file(file.rawValue) }
    } catch {
      if error.code == EAGAIN || error.code == EACCES { return nil }
      throw error
    }
    _ = try systemCall("ftruncate \(path)") { ftruncate(file.rawValue, 0) }
    try FileIO.writeAll(file.rawValue, "\(ThisProcess.processID)\n")
    return file
  }

  /// The process that holds the lock; `nil` when none does. Good for messages: the holder may have
  /// changed by the time it is used.
  package static func holder(path: String) -> Int32? {
    // A file that cannot be opened or read is nobody's lock that could be named.
    guard let file = try? FileIO.open(path, O_RDONLY | O_NOFOLLOW),
      img_is_file_locked(file.rawValue) == 1,
      let bytes = try? FileIO.contents(of: path, upTo: 32)
    else { return nil }
    return Int32(String(decoding: bytes, as: UTF8.self).prefix { $0.isNumber })
  }
}
