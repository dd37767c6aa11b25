import Glibc

/// Directories that belong to one user.
package enum Directory {
  /// Makes sure that `path` is a directory of ours that no other user can write or replace, see
  /// ``requireExclusive(_:mayBeForeign:)``. Creates it and what is missing above it with mode 0700;
  /// one that exists keeps its mode.
  ///
  /// - Throws: EPERM when its last component is a symbolic link, another user owns it or other
  ///   users may write there, ENOTDIR when it is no directory: in a place where every user may
  ///   create files, such as /tmp, another user may have created it first.
  package static func createPrivate(_ path: String) throws(SystemError) {
    // A slash at the end would make the kernel follow a link there.
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

  /// Makes sure that there is a directory at `path`, with what is missing above it, as mkdir -p
  /// does.
  ///
  /// - Parameter mode: of the last one; those above it are for this user alone.
  /// - Throws: ENOTDIR when something else is there.
  package static func create(_ path: String, mode: UInt32 = 0o777) throws(SystemError) {
    try createParents(of: path)
    try createOne(path, mode: mode)
    guard try FileStatus(following: path).isDirectory else {
      throw SystemError(operation: "create directory \(path)", code: ENOTDIR)
    }
  }

  /// Like mkdir -p for everything above the last component; links there are followed.
  private static func createParents(of path: String) throws(SystemError) {
    for slash in path.indices.dropFirst() where path[slash] == "/" {
      try createOne(String(path[..<slash]))
    }
  }

  /// One directory; what is there already is no error here.
  private static func createOne(_ path: String, mode: mode_t = 0o700) throws(SystemError) {
    do {
      _ = try pathCall("mkdir", path) { unsafe mkdir(path, mode) }
    } catch {
      if error.code != EEXIST { throw error }
    }
  }
}
