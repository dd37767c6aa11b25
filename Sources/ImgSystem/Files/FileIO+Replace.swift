import Glibc

extension FileIO {
  /// Replaces the content of the file at `path` atomically: readers see the old or the new content.
  /// A symbolic link is replaced, not followed; see ``resolvingLinks(_:)``. The new file has the rights of
  /// the file that it replaces.
  ///
  /// Writes to a file that is not regular, such as /dev/stdout or a pipe. The content survives a
  /// crash of this process, but possibly not a power cut.
  package static func replace(
    path: String, with bytes: borrowing Span<UInt8>
  ) throws(SystemError) {
    // If the status cannot be read, the calls below report the reason.
    if let status = try? FileStatus(following: path), !status.isRegularFile {
      let special = try open(path, O_WRONLY)
      return try writeAll(special.rawValue, bytes)
    }
    _ = try replaceRegular(path: path, with: bytes, isLocked: false)
  }

  /// Replaces the content of a regular file, see ``replace(path:with:)``. The new file is locked as
  /// ``FileLock`` does it.
  ///
  /// - Returns: the new file, which is locked until it closes.
  static func replaceLocked(
    path: String, with bytes: borrowing Span<UInt8>
  ) throws(SystemError) -> OwnedDescriptor {
    try replaceRegular(path: path, with: bytes, isLocked: true)
  }

  private static func replaceRegular(
    path: String, with bytes: borrowing Span<UInt8>, isLocked: Bool
  ) throws(SystemError) -> OwnedDescriptor {
    let replacement = try ReplacementFile(path: path)
    if isLocked { try replacement.lock() }
    try writeAll(replacement.descriptor, bytes)
    return try replacement.commit()
  }

  /// Replaces the content of a regular file atomically, or creates it, in a directory that others may
  /// have filled, see ``ReplacementFile``.
  ///
  /// - Throws: EEXIST where ``replace(path:with:)`` would write to a file that is not regular.
  package static func replaceRegular(path: String, with bytes: [UInt8]) throws(SystemError) {
    _ = try replaceRegular(path: path, with: bytes.span, isLocked: false)
  }

  /// Notices early that ``replace(path:with:)`` could not write, by an attempt to make its temporary file.
  ///
  /// - Throws: the error that the attempt to write would report.
  package static func checkReplaceable(path: String) throws(SystemError) {
    let status = try? FileStatus(following: path)
    guard status?.isDirectory != true else {
      throw SystemError(operation: "write \(path)", code: EISDIR)
    }
    guard status?.isRegularFile ?? true else {
      // A file that is not regular, such as a pipe, keeps its place and is written itself.
      _ = try pathCall("write", path) { unsafe faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) }
      return
    }
    _ = try ReplacementFile(path: path)
  }

  /// Replaces the content of the file at `path` atomically.
  package static func replace(path: String, with bytes: [UInt8]) throws(SystemError) {
    try replace(path: path, with: bytes.span)
  }

  /// The path that a path stands for if it names a symbolic link. There need not be a file.
  ///
  /// - Throws: ELOOP after 40 links, the limit of Linux (path_resolution(7)).
  package static func resolvingLinks(_ path: String) throws(SystemError) -> String {
    var resolved = path
    for _ in 0..<40 {
      guard let status = try? FileStatus(at: resolved), status.isSymbolicLink else {
        return resolved
      }
      let target = try target(ofLink: resolved)
      resolved = target.hasPrefix("/") ? target : directory(of: resolved) + target
    }
    throw SystemError(operation: "open \(path)", code: ELOOP)
  }

  /// The part of a path before the name, with its last slash; empty for the current directory.
  static func directory(of path: String) -> Substring {
    path.lastIndex(of: "/").map { path[...$0] } ?? ""
  }
}
