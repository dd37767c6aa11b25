import Glibc

/// New content for the file at a path. It is written to a temporary file beside it, which then takes the
/// path: until then the path has what it had before, and nothing at the path is opened. A symbolic link
/// is replaced, not followed.
///
/// The new file has the rights of a regular file that it replaces. The content survives a crash of this
/// process, but possibly not a power cut.
package final class ReplacementFile {
  private let path: String
  private let temporary: String
  private var file: OwnedDescriptor?
  /// For writing, until ``commit()``.
  package let descriptor: CInt

  /// - Parameter isPrivate: whether only the owner may read the file, whatever it replaces.
  /// - Throws: EEXIST if something else than a regular file or a symbolic link is at the path, such as a
  ///   directory or a named pipe.
  package init(path: String, isPrivate: Bool = false) throws(SystemError) {
    let replaced = try? FileStatus(at: path)
    if let replaced, !replaced.isRegularFile, !replaced.isSymbolicLink {
      throw SystemError(operation: "replace \(path), which is not a regular file", code: EEXIST)
    }
    // In the same directory, because a rename does not cross file systems. The name does not
    // include the target's, which may have the maximum length.
    let suffix = String(UInt64.random(in: 0...UInt64.max), radix: 36)
    let temporary = "\(FileIO.directory(of: path)).imgctl-\(suffix).tmp"
    let file: OwnedDescriptor
    do throws(SystemError) {
      file = try FileIO.open(
        temporary, O_WRONLY | O_CREAT | O_EXCL, mode: isPrivate ? 0o600 : 0o666)
    } catch {
      // The caller knows the target, not the temporary file.
      throw SystemError(operation: "write \(path)", code: error.code)
    }
    descriptor = file.rawValue
    self.path = path
    self.temporary = temporary
    self.file = consume file
    if !isPrivate, let replaced, replaced.isRegularFile {
      _ = try pathCall("change the mode of", temporary) {
        fchmod(descriptor, replaced.permissions & 0o777)
      }
    }
  }

  deinit {
    if file != nil { unsafe unlink(temporary) }
  }

  /// Removes the temporary file, for a process that a signal ends; does nothing once the file has its
  /// path.
  package var removal: @Sendable () -> Void {
    { [temporary] in unsafe unlink(temporary) }
  }

  /// Locks the file as ``FileLock`` does it, until it closes.
  func lock() throws(SystemError) {
    try FileLock.lock(descriptor, named: temporary)
  }

  /// Gives the file its path.
  ///
  /// - Returns: the file, still open.
  @discardableResult
  package func commit() throws(SystemError) -> OwnedDescriptor {
    _ = try pathCall("rename to", path) { unsafe rename(temporary, path) }
    guard let file = file.take() else { preconditionFailure("\(path) has its content already") }
    return file
  }
}
