import Glibc

/// What the kernel knows of a file.
package struct FileStatus: Sendable {
  private let value: stat

  /// Of an open file.
  package init(of descriptor: CInt) throws(SystemError) {
    var value = stat()
    _ = try systemCall("fstat") { unsafe fstat(descriptor, &value) }
    self.value = value
  }

  /// Of what a path leads to, symbolic links followed.
  package init(following path: String) throws(SystemError) {
    var value = stat()
    _ = try pathCall("stat", path) { unsafe stat(path, &value) }
    self.value = value
  }

  /// Of what lies at a path, be it a symbolic link.
  package init(at path: String) throws(SystemError) {
    var value = stat()
    _ = try pathCall("lstat", path) { unsafe lstat(path, &value) }
    self.value = value
  }

  var isDirectory: Bool { value.st_mode & S_IFMT == S_IFDIR }
  package var isRegularFile: Bool { value.st_mode & S_IFMT == S_IFREG }
  var isSocket: Bool { value.st_mode & S_IFMT == S_IFSOCK }
  var isSymbolicLink: Bool { value.st_mode & S_IFMT == S_IFLNK }
  /// Whether its group or all users may write there.
  var isWritableByOthers: Bool { value.st_mode & (S_IWGRP | S_IWOTH) != 0 }
  /// Whether in this directory only the owner of a file removes or renames it (inode(7)).
  var isSticky: Bool { value.st_mode & S_ISVTX != 0 }
  /// Whether the file has a name anywhere, or was removed from the last place it had.
  var hasName: Bool { value.st_nlink > 0 }
  package var userID: UInt32 { value.st_uid }
  var groupID: UInt32 { value.st_gid }
  package var permissions: UInt32 { value.st_mode & 0o7777 }
  package var byteCount: Int { value.st_size }

  /// Whether both are the same file, not only equal ones.
  package func isSameFile(as other: FileStatus) -> Bool {
    value.st_dev == other.value.st_dev && value.st_ino == other.value.st_ino
  }
}
