import CLinux
import Glibc

extension Directory {
  /// Puts each of two directories in the other's place, at once: nobody finds one missing.
  ///
  /// - Throws: EINVAL where the file system cannot (rename(2), RENAME_EXCHANGE).
  package static func exchange(_ path: String, with other: String) throws(SystemError) {
    _ = try pathCall("exchange", path) { unsafe img_exchange(path, other) }
  }

  /// Gives a directory another name, under which there is nothing or an empty directory.
  package static func move(_ path: String, to other: String) throws(SystemError) {
    _ = try pathCall("rename", path) { unsafe rename(path, other) }
  }

  /// Waits until what was created, removed or renamed in a directory is on the disk.
  package static func sync(_ path: String) throws(SystemError) {
    let directory = try FileIO.open(path, O_RDONLY | O_DIRECTORY)
    _ = try pathCall("fsync", path) { fsync(directory.rawValue) }
  }

  /// Where a path leads, without symbolic links.
  package static func resolve(_ path: String) throws(SystemError) -> String {
    var characters = [CChar](repeating: 0, count: Int(PATH_MAX))
    // It writes at most PATH_MAX bytes, the end included (realpath(3)).
    _ = try pathCall("resolve", path) { unsafe realpath(path, &characters) == nil ? -1 : 0 }
    let bytes = characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether the directory that a path leads to belongs to this process's user.
  package static func isOwn(_ path: String) throws(SystemError) -> Bool {
    try FileStatus(following: path).userID == ThisProcess.userID
  }

  /// Gives a file or a directory the mode and the group of another.
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

  /// Gives a file a second name, in a directory of the same file system.
  package static func link(_ path: String, as other: String) throws(SystemError) {
    _ = try pathCall("link", other) { unsafe Glibc.link(path, other) }
  }
}
