import CLinux
import Glibc

extension Directory {
  /// Exchanges two directories atomically.
  ///
  /// - Throws: EINVAL if the file system does not support it (rename(2), RENAME_EXCHANGE).
  package static func exchange(_ path: String, with other: String) throws(SystemError) {
    _ = try pathCall("exchange", path) { unsafe img_exchange(path, other) }
  }

  /// Renames a directory. The new name must be unused or an empty directory.
  package static func move(_ path: String, to other: String) throws(SystemError) {
    _ = try pathCall("rename", path) { unsafe rename(path, other) }
  }

  /// Waits until the changes to a directory's entries are on the disk.
  package static func sync(_ path: String) throws(SystemError) {
    let directory = try FileIO.open(path, O_RDONLY | O_DIRECTORY)
    _ = try pathCall("fsync", path) { fsync(directory.rawValue) }
  }

  /// The path without symbolic links.
  package static func resolve(_ path: String) throws(SystemError) -> String {
    var characters = [CChar](repeating: 0, count: Int(PATH_MAX))
    // realpath(3) writes at most PATH_MAX bytes, including the terminator.
    _ = try pathCall("resolve", path) { unsafe realpath(path, &characters) == nil ? -1 : 0 }
    let bytes = characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether a directory belongs to this process's user. Follows symbolic links.
  package static func isOwn(_ path: String) throws(SystemError) -> Bool {
    try FileStatus(following: path).userID == ThisProcess.userID
  }

  /// Copies the mode and the group of a file or directory to another.
  package static func copyPermissions(
    from path: String, to other: String
  ) throws(SystemError) {
    let (model, status) = (try FileStatus(following: path), try FileStatus(following: other))
    if model.groupID != status.groupID {
      _ = try pathCall("chown", other) { unsafe chown(other, uid_t.max, model.groupID) }
    }
    if model.permissions != status.permissions {
      _ = try pathCall("chmod", other) { unsafe chmod(other, model.permissions) }
    }
  }

  /// Creates a hard link to a file on the same file system.
  package static func link(_ path: String, as other: String) throws(SystemError) {
    _ = try pathCall("link", other) { unsafe Glibc.link(path, other) }
  }
}
