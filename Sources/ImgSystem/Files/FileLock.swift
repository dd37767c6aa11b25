import CLinux
import Glibc

/// A file that one process at a time locks. It contains the process ID and a note.
///
/// The lock belongs to the open file (fcntl_locking(2), "Open file description locks"). It ends
/// with the last descriptor, however the process ends. The file stays.
package enum FileLock {
  /// The process that holds a lock.
  package struct Holder: Hashable, Sendable {
    package let processID: Int32
    /// One line, empty if the holder wrote none.
    package let note: String
  }

  /// The maximum length of a note, which is a path.
  private static let maximumByteCount = 4_096

  /// Takes the lock and writes the process ID. Does not block.
  ///
  /// - Parameter note: a line for other processes, see ``Holder/note``.
  /// - Returns: the descriptor that holds the lock; `nil` if another process holds it.
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

  /// Waits until no other process holds the lock, takes it and writes the process ID.
  ///
  /// - Precondition: this process does not hold the lock; it would wait for itself.
  package static func acquire(waitingFor path: String) throws(SystemError) -> OwnedDescriptor {
    let file = try open(path)
    _ = try systemCall("lock \(path)") { img_wait_and_lock_file(file.rawValue) }
    sign(file)
    return file
  }

  private static func open(_ path: String) throws(SystemError) -> OwnedDescriptor {
    try FileIO.open(path, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
  }

  /// Writes the process ID and the note, which are only for messages. On a full disk, the lock
  /// holds without them.
  private static func sign(_ file: borrowing OwnedDescriptor, _ note: String = "") {
    guard ftruncate(file.rawValue, 0) == 0 else { return }
    let lines = ["\(ThisProcess.processID)", note].filter { !$0.isEmpty }
    try? FileIO.writeAll(file.rawValue, lines.joined(separator: "\n") + "\n")
  }

  /// Whether the file at `path` is the one that a descriptor locks. Otherwise the lock does not
  /// keep out processes that use the path.
  package static func isHeld(
    by lock: borrowing OwnedDescriptor, at path: String
  ) -> Bool {
    // Other processes cannot meet a lock on an inaccessible file.
    guard let held = try? FileStatus(of: lock.rawValue),
      let named = try? FileStatus(at: path)
    else { return false }
    return held.isSameFile(as: named)
  }

  /// Locks an open file, whose content stays.
  static func lock(_ descriptor: CInt, named name: String) throws(SystemError) {
    _ = try systemCall("lock \(name)") { img_lock_file(descriptor) }
  }

  /// Whether another process has the file open and locked.
  static func isLocked(path: String) -> Bool {
    guard let file = try? FileIO.open(path, O_RDONLY | O_NOFOLLOW) else { return false }
    return img_is_file_locked(file.rawValue) == 1
  }

  /// The process that holds the lock; `nil` if none does. The holder may change at any time, so use
  /// this only for messages and as a hint.
  package static func holder(path: String) -> Holder? {
    // An unreadable file has no known holder.
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
