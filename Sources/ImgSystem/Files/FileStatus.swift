import CLinux
import Glibc

/// The kernel's metadata of a file.
package struct FileStatus: Sendable {
  private let value: stat

  /// The status of an open file.
  package init(of descriptor: CInt) throws(SystemError) {
    var value = stat()
    _ = try systemCall("fstat") { unsafe fstat(descriptor, &value) }
    self.value = value
  }

  /// The status of a path. Follows symbolic links.
  package init(following path: String) throws(SystemError) {
    var value = stat()
    _ = try pathCall("stat", path) { unsafe stat(path, &value) }
    self.value = value
  }

  /// The status of a path. Does not follow a symbolic link.
  package init(at path: String) throws(SystemError) {
    var value = stat()
    _ = try pathCall("lstat", path) { unsafe lstat(path, &value) }
    self.value = value
  }

  package var isDirectory: Bool { value.st_mode & S_IFMT == S_IFDIR }
  package var isRegularFile: Bool { value.st_mode & S_IFMT == S_IFREG }
  var isSocket: Bool { value.st_mode & S_IFMT == S_IFSOCK }
  var isSymbolicLink: Bool { value.st_mode & S_IFMT == S_IFLNK }
  /// Whether its group or all users may write.
  var isWritableByOthers: Bool { value.st_mode & (S_IWGRP | S_IWOTH) != 0 }
  /// Whether users may read who are neither the owner nor in the group. The mode shows the rights of an access
  /// control list, such as that of a credential of systemd, as those of the group (acl(5)).
  package var isReadableByAll: Bool { value.st_mode & S_IROTH != 0 }
  /// The same for writing.
  package var isWritableByAll: Bool { value.st_mode & S_IWOTH != 0 }
  /// Whether only the owner of an entry in this directory may remove or rename it (inode(7)).
  var isSticky: Bool { value.st_mode & S_ISVTX != 0 }
  /// Whether the file has a name; `false` after the last one was removed.
  var hasName: Bool { value.st_nlink > 0 }
  /// The names of the file; for a directory, two and the directories in it.
  var linkCount: Int { Int(value.st_nlink) }
  package var userID: UInt32 { value.st_uid }
  var groupID: UInt32 { value.st_gid }
  package var permissions: UInt32 { value.st_mode & 0o7777 }
  package var byteCount: Int { value.st_size }

  /// Numbers that differ once the contents have changed: the size, when they changed last, in nanoseconds, and the
  /// inode, which a file has that replaces another.
  package var state: [Int64] {
    [Int64(value.st_size), changeTime, Int64(truncatingIfNeeded: value.st_ino)].map { $0 & .max }
  }

  /// When the contents changed last, in nanoseconds.
  var changeTime: Int64 {
    Int64(value.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(value.st_mtim.tv_nsec)
  }

  /// Whether a directory has the path, or a link to one.
  package static func isDirectory(at path: String) -> Bool {
    (try? FileStatus(following: path))?.isDirectory == true
  }

  /// Names the file (inode) among all of this machine, as long as it exists and no device changes its number.
  package var number: String { "\(value.st_dev):\(value.st_ino)" }

  /// Whether both are the same file (inode), not only equal ones.
  package func isSameFile(as other: FileStatus) -> Bool {
    value.st_dev == other.value.st_dev && value.st_ino == other.value.st_ino
  }
}

/// The size and the free space of a file system.
package struct DiskSpace: Hashable, Sendable {
  package let byteCount: Int64
  /// The space available to this user (statvfs(3), `f_bavail`).
  package let freeByteCount: Int64

  package init(byteCount: Int64, freeByteCount: Int64) {
    self.byteCount = byteCount
    self.freeByteCount = freeByteCount
  }

  /// The file system of an open file.
  package init(of descriptor: CInt) throws(SystemError) {
    var value = statvfs()
    _ = try systemCall("fstatvfs") { unsafe fstatvfs(descriptor, &value) }
    let block = Int64(clamping: value.f_frsize)
    byteCount = Self.product(Int64(clamping: value.f_blocks), block)
    freeByteCount = Self.product(Int64(clamping: value.f_bavail), block)
  }

  private static func product(_ count: Int64, _ size: Int64) -> Int64 {
    let (product, overflow) = count.multipliedReportingOverflow(by: size)
    return overflow ? .max : product
  }
}

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
  package static func holder(path: String) -> Holder? { holder(path: path, isLocked: true) }

  /// The process that held the lock last and ended without ``removeNote(of:)``; `nil` if it called that, and
  /// while a process holds the lock.
  package static func lastHolder(path: String) -> Holder? { holder(path: path, isLocked: false) }

  private static func holder(path: String, isLocked: Bool) -> Holder? {
    // An unreadable file has no known holder.
    guard let file = try? FileIO.open(path, O_RDONLY | O_NOFOLLOW),
      (img_is_file_locked(file.rawValue) == 1) == isLocked,
      let bytes = try? FileIO.contents(of: file.rawValue, named: path, upTo: maximumByteCount)
    else { return nil }
    let lines = String(decoding: bytes, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false)
    guard let processID = lines.first.flatMap({ Int32($0) }) else { return nil }
    return Holder(processID: processID, note: lines.count > 1 ? String(lines[1]) : "")
  }

  /// Removes what ``acquire(path:note:)`` has written. The lock stays.
  package static func removeNote(of lock: borrowing OwnedDescriptor) {
    // A note that stays is a wrong hint to the next holder.
    _ = ftruncate(lock.rawValue, 0)
  }
}
