import Glibc

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
    let suffix = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    let backupPath = "\(FileIO.directory(of: path)).imgctl-\(suffix).tmp"
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
