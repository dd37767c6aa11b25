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
    // In the same directory, because a rename does not cross file systems. The name does not
    // include the target's, which may have the maximum length.
    let directory = directory(of: path)
    let suffix = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    let temporary = "\(directory).imgctl-\(suffix).tmp"
    let file: OwnedDescriptor
    do {
      file = try open(temporary, O_WRONLY | O_CREAT | O_EXCL, mode: 0o666)
    } catch {
      // The caller knows the target, not the temporary file.
      throw SystemError(operation: "write \(path)", code: error.code)
    }
    do {
      if isLocked { try FileLock.lock(file, named: temporary) }
      if let replaced = try? FileStatus(at: path), replaced.isRegularFile {
        let descriptor = file.rawValue
        _ = try pathCall("change the mode of", temporary) {
          fchmod(descriptor, replaced.permissions & 0o777)
        }
      }
      try writeAll(file.rawValue, bytes)
      _ = try pathCall("rename to", path) { unsafe rename(temporary, path) }
    } catch {
      unsafe unlink(temporary)
      throw error
    }
    return file
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
