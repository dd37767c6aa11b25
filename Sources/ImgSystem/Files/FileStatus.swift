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

  /// Whether both are the same file (inode), not only equal ones.
  package func isSameFile(as other: FileStatus) -> Bool {
    value.st_dev == other.value.st_dev && value.st_ino == other.value.st_ino
  }
}
