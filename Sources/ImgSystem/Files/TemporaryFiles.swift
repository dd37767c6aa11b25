import CLinux
import Glibc

/// The names of temporary files, which tell nothing of what they become.
private enum TemporaryName {
  private static let prefix = ".imgctl-"
  /// Of what a process that is killed leaves in vain.
  private static let suffix = ".tmp"
  /// Of what may be all that is left of a file.
  private static let backupSuffix = ".bak"

  static func path(beside path: String, isBackup: Bool = false) -> String {
    "\(FileIO.directory(of: path))\(prefix)\(String(UInt64.random(in: 0...UInt64.max), radix: 36))"
      + (isBackup ? backupSuffix : suffix)
  }

  static func isOne(_ name: String) -> Bool {
    guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return false }
    return UInt64(name.dropFirst(prefix.count).dropLast(suffix.count), radix: 36) != nil
  }
}

/// A file that has provisional content, until this process gives it its final one or puts it back as it was:
/// with its content, its rights and its dates.
///
/// One process at a time does that to a file: the provisional content is locked, however the process ends.
package struct ProvisionalFile: ~Copyable {
  private let path: String
  /// The second name of the file as it was; `nil` if there was no file.
  private let backupPath: String?
  /// The provisional content, open and locked.
  private var content: OwnedDescriptor?

  /// Keeps the file as it is now.
  ///
  /// - Parameter path: of a regular file, not of a symbolic link.
  /// - Throws: EBUSY if another process has its provisional content there, EPERM if the file system has no
  ///   hard links.
  package init(path: String) throws(SystemError) {
    guard !FileLock.isLocked(path: path) else {
      throw SystemError(operation: "replace \(path)", code: EBUSY)
    }
    let backupPath = TemporaryName.path(beside: path, isBackup: true)
    do {
      _ = try pathCall("link to", path) { unsafe link(path, backupPath) }
      self.backupPath = backupPath
    } catch {
      guard error.code == ENOENT else { throw error }
      self.backupPath = nil
    }
    self.path = path
  }

  /// Replaces the content.
  package mutating func replace(with bytes: [UInt8]) throws(SystemError) {
    content = try FileIO.replaceLocked(path: path, with: bytes.span)
  }

  /// Whether the file has the content that this process has put there last.
  private var isProvisional: Bool {
    switch content {
    case .none: false
    case .some(let content): FileLock.isHeld(by: content, at: path)
    }
  }

  /// Puts the file back as it was, or removes it if there was none. Leaves a file that another process has
  /// put there meanwhile.
  package consuming func restore() throws(SystemError) {
    guard isProvisional else { return removeBackup() }
    if let backupPath {
      _ = try pathCall("rename to", path) { [path] in unsafe rename(backupPath, path) }
    } else {
      do throws(SystemError) {
        _ = try pathCall("remove", path) { [path] in unsafe unlink(path) }
      } catch {
        guard error.code == ENOENT else { throw error }
      }
    }
  }

  /// The file has its final content.
  package consuming func discard() {
    removeBackup()
  }

  private func removeBackup() {
    if let backupPath { unsafe unlink(backupPath) }
  }
}

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

/// New content for the file at a path. It is written to a temporary file beside it, which then takes the
/// path: until then the path has what it had before, and nothing at the path is opened. A symbolic link
/// is replaced, not followed.
///
/// The new file has the rights of a regular file that it replaces. The content survives a crash of this
/// process, but possibly not a power cut.
package final class ReplacementFile {
  private let path: String
  private let temporary: String
  private var file: OwnedDescriptor?
  /// For writing, until ``commit()``.
  package let descriptor: CInt
  private let creationTime: Int64
  private var isLocked = false

  /// - Parameter isPrivate: whether only the owner may read the file, whatever it replaces.
  /// - Throws: EEXIST if something else than a regular file or a symbolic link is at the path, such as a
  ///   directory or a named pipe.
  package init(path: String, isPrivate: Bool = false) throws(SystemError) {
    let replaced = try? FileStatus(at: path)
    if let replaced, !replaced.isRegularFile, !replaced.isSymbolicLink {
      throw SystemError(operation: "replace \(path), which is not a regular file", code: EEXIST)
    }
    // In the same directory, because a rename does not cross file systems. The name does not
    // include the target's, which may have the maximum length.
    let temporary = TemporaryName.path(beside: path)
    let file: OwnedDescriptor
    do throws(SystemError) {
      file = try FileIO.open(
        temporary, O_WRONLY | O_CREAT | O_EXCL, mode: isPrivate ? 0o600 : 0o666)
    } catch {
      // The caller knows the target, not the temporary file.
      throw SystemError(operation: "write \(path)", code: error.code)
    }
    descriptor = file.rawValue
    creationTime = try FileStatus(of: descriptor).changeTime
    self.path = path
    self.temporary = temporary
    self.file = consume file
    if !isPrivate, let replaced, replaced.isRegularFile {
      _ = try pathCall("change the mode of", temporary) {
        fchmod(descriptor, replaced.permissions & 0o777)
      }
    }
  }

  deinit {
    if file != nil { unsafe unlink(temporary) }
  }

  /// Removes the temporary file, for a process that a signal ends; does nothing once the file has its
  /// path.
  package var removal: @Sendable () -> Void {
    { [temporary] in unsafe unlink(temporary) }
  }

  /// Locks the file as ``FileLock`` does it, until it closes.
  func lock() throws(SystemError) {
    try FileLock.lock(descriptor, named: temporary)
  }

  /// The same where the file system has locks: another process does not take the file for a stale one.
  package func lockIfPossible() {
    isLocked = (try? lock()) != nil
  }

  /// Removes the temporary files in a directory that processes have left which were killed: those without a lock that
  /// were written before this one was created. Nothing, if this one could not be locked.
  package func removeStale(in directory: String) {
    guard isLocked, let listing = try? DirectoryListing(directory) else { return }
    while case let entries = listing.next(upTo: 1_000), !entries.isEmpty {
      for entry in entries {
        let name = String(decoding: entry.name, as: UTF8.self)
        guard TemporaryName.isOne(name) else { continue }
        let path = "\(directory)/\(name)"
        guard let status = try? FileStatus(at: path), status.isRegularFile,
          status.changeTime < creationTime, !FileLock.isLocked(path: path)
        else { continue }
        unsafe unlink(path)
      }
    }
  }

  /// Gives the file its path.
  ///
  /// - Parameter isDurable: whether its content and its path survive a power cut.
  /// - Returns: the file, still open.
  @discardableResult
  package func commit(isDurable: Bool = false) throws(SystemError) -> OwnedDescriptor {
    if isDurable { _ = try pathCall("fsync", path) { fsync(descriptor) } }
    _ = try pathCall("rename to", path) { unsafe rename(temporary, path) }
    if isDurable {
      let directory = FileIO.directory(of: path)
      try Directory.sync(directory.isEmpty ? "." : String(directory))
    }
    guard let file = file.take() else { preconditionFailure("\(path) has its content already") }
    return file
  }
}
