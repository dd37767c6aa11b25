import Glibc

/// A second name of a file that is about to be replaced, so that it can be put back as it was: with its
/// content, its rights and its dates, and as the symbolic link that it may be.
package struct FileBackup: ~Copyable {
  private let path: String
  /// `nil` if there was no file.
  private let backupPath: String?

  /// - Throws: EPERM if the file system has no hard links.
  package init(of path: String) throws(SystemError) {
    let directory = FileIO.directory(of: path)
    let suffix = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    let backupPath = "\(directory).imgctl-\(suffix).tmp"
    do {
      _ = try pathCall("link to", path) { unsafe link(path, backupPath) }
      self.backupPath = backupPath
    } catch {
      guard error.code == ENOENT else { throw error }
      self.backupPath = nil
    }
    self.path = path
  }

  /// Puts the file back in place of what replaced it, or removes that if there was no file.
  package consuming func restore() throws(SystemError) {
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

  /// The file is no longer needed.
  package consuming func discard() {
    if let backupPath { unsafe unlink(backupPath) }
  }
}
