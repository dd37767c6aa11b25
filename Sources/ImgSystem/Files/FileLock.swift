import CLinux
import Glibc

/// A file that one process at a time holds locked, with its process ID inside and a note of its own.
///
/// The lock belongs to the open file (fcntl_locking(2), "Open file description locks"): it ends
/// with the last descriptor of it, however the process ends, and the file stays.
package enum FileLock {
  /// The process that holds a lock.
  package struct Holder: Hashable, Sendable {
    package let processID: Int32
    /// One line, empty when the holder wrote none.
    package let note: String
  }

  /// The longest note that is read: a path.
  private static let maximumByteCount = 4_096

  /// Takes the lock and writes our process ID; never waits.
  ///
  /// - Parameter note: a line that others read, see ``Holder/note``.
  /// - Returns: the descriptor that holds the lock, or `nil` when another does.
  package static func acquire(
    path: String, note: String = ""
  ) throws(SystemError) -> OwnedDescriptor? {
    let file = try open(path)
    do {
      _ = try systemCall("lock \(path)") { img_lock_file(file.rawValue) }
    } catch {
      if error.code == EAGAIN || error.code == EACCES { return nil }
      throw error
    }
    sign(file, note)
    return file
  }

  /// Takes the lock and writes our process ID, as soon as no other process holds it.
  ///
  /// - Precondition: this process does not hold it, or it would wait for itself.
  package static func acquire(waitingFor path: String) throws(SystemError) -> OwnedDescriptor {
    let file = try open(path)
    _ = try systemCall("lock \(path)") { img_wait_and_lock_file(file.rawValue) }
    sign(file)
    return file
  }

  private static func open(_ path: String) throws(SystemError) -> OwnedDescriptor {
    try FileIO.open(path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
  }

  /// For messages alone; on a full disk the lock holds without it.
  private static func sign(_ file: borrowing OwnedDescriptor, _ note: String = "") {
    guard ftruncate(file.rawValue, 0) == 0 else { return }
    let lines = ["\(ThisProcess.processID)", note].filter { !$0.isEmpty }
    try? FileIO.writeAll(file.rawValue, lines.joined(separator: "\n") + "\n")
  }

  /// Whether the file at `path` is the one whose lock a descriptor holds, and so whether it keeps
  /// others off who come by that path.
  package static func isHeld(
    by lock: borrowing OwnedDescriptor, at path: String
  ) -> Bool {
    // Whatever cannot be looked at is no lock that others could meet.
    guard let held = try? FileStatus(of: lock.rawValue),
      let named = try? FileStatus(at: path)
    else { return false }
    return held.isSameFile(as: named)
  }

  /// The process that holds the lock; `nil` when none does. Good for messages: the holder may have
  /// changed by the time it is used.
  package static func holder(path: String) -> Holder? {
    // A file that cannot be opened or read is nobody's lock that could be named.
    guard let file = try? FileIO.open(path, O_RDONLY | O_NOFOLLOW),
      img_is_file_locked(file.rawValue) == 1,
      let bytes = try? FileIO.contents(of: file.rawValue, named: path, upTo: maximumByteCount)
    else { return nil }
    let lines = String(decoding: bytes, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false)
    guard let processID = lines.first.flatMap({ Int32($0) }) else { return nil }
    return Holder(processID: processID, note: lines.count > 1 ? String(lines[1]) : "")
  }
}
