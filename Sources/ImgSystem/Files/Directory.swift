import Glibc

/// Operations on directories.
package enum Directory {
  /// Ensures that `path` is a directory of this user that no other user can write or replace, see
  /// ``requireExclusive(_:mayBeForeign:)``. Creates missing directories with mode 0700. Existing
  /// ones keep their mode. Creates nothing below a directory that another user could replace.
  ///
  /// - Throws: EPERM if the last component is a symbolic link, belongs to another user or is
  ///   writable by others; ENOTDIR if it is not a directory. In a shared place such as /tmp,
  ///   another user may have created it first.
  package static func createPrivate(_ path: String) throws(SystemError) {
    try requireCreatable(path)
    // With a trailing slash, the kernel would follow a symbolic link.
    var path = path
    while path.utf8.count > 1, path.hasSuffix("/") { path.removeLast() }

    do {
      try createOne(path)
    } catch {
      guard error.code == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex
      else { throw error }
      try createParents(of: path)
      try createOne(path)
    }
    let status = try FileStatus(at: path)
    guard status.isDirectory || status.isSymbolicLink else {
      throw SystemError(operation: "create directory \(path)", code: ENOTDIR)
    }
    guard status.isDirectory, status.userID == ThisProcess.userID else {
      throw SystemError(operation: "create directory \(path)", code: EPERM)
    }
    try requireExclusive(path)
  }

  /// Creates a directory with its missing parents, like mkdir -p.
  ///
  /// - Parameter mode: the mode of the last directory. The parents get mode 0700.
  /// - Throws: ENOTDIR if something else has that name.
  package static func create(_ path: String, mode: UInt32 = 0o777) throws(SystemError) {
    try createParents(of: path)
    try createOne(path, mode: mode)
    guard try FileStatus(following: path).isDirectory else {
      throw SystemError(operation: "create directory \(path)", code: ENOTDIR)
    }
  }

  /// Creates the missing parents, like mkdir -p. Follows symbolic links.
  private static func createParents(of path: String) throws(SystemError) {
    for slash in path.indices.dropFirst() where path[slash] == "/" {
      try createOne(String(path[..<slash]))
    }
  }

  /// Creates one directory. Succeeds if something has that name.
  private static func createOne(_ path: String, mode: mode_t = 0o700) throws(SystemError) {
    do {
      _ = try pathCall("mkdir", path) { unsafe mkdir(path, mode) }
    } catch {
      if error.code != EEXIST { throw error }
    }
  }
}
