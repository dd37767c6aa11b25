import CLMDB
import Glibc
import ImgSystem

/// An environment whose files were removed while it was open.
extension Environment {
  /// Writes everything that is committed into the directory anew, where the files are missing. What
  /// is open stays as it is and knows nothing of the new files: they are to be opened in its place.
  ///
  /// The data file gets its name when it is whole and on the disk, and the names are on the disk
  /// when this returns.
  ///
  /// - Parameter writeBeside: writes what else belongs into the directory, before the data file gets
  ///   its name.
  /// - Throws: ``StoreError/Reason/replaced`` when there is another data file meanwhile, which
  ///   stays; ``StoreError/Reason/absent`` when somebody removes the directory just now.
  func restoreFiles(
    writingFirst writeBeside: () throws(StoreError) -> Void
  ) throws(StoreError) {
    do throws(StoreError) {
      try restore(writingFirst: writeBeside)
    } catch {
      throw error.at(directory, content: content)
    }
  }

  /// Takes back what ``restoreFiles(writingFirst:)`` wrote and could not be opened: whoever restores them again
  /// must not find somebody else's.
  func withdrawRestoredFiles() {
    unsafe unlink(dataPath)
  }

  private var isOwnDataNamed: Bool {
    var descriptor: CInt = -1
    guard unsafe mdb_env_get_fd(handle, &descriptor) == MDB_SUCCESS else { return false }
    return EnvironmentFiles(in: directory).isData(descriptor)
  }

  private var dataPath: String { "\(directory)/data.mdb" }

  private func restore(
    writingFirst writeBeside: () throws(StoreError) -> Void
  ) throws(StoreError) {
    if unsafe mkdir(directory, 0o700) != 0, errno != EEXIST { throw .last("mkdir") }
    // Its own may still be there, when only the lock file has gone; it is replaced by its copy.
    guard !EnvironmentFiles(in: directory).hasData || isOwnDataNamed else {
      throw StoreError(.replaced, operation: "restoring data.mdb")
    }
    try writeBeside()
    try writeCopy(isCompacting: false)
    removeLockFile()
    guard unsafe rename(copyPath, dataPath) == 0 else { throw .last("rename") }
    do throws(StoreError) {
      try StoreError.wrapping { () throws(SystemError) in
        try Directory.sync(directory)
        try Directory.sync("\(directory)/..")
      }
    } catch {
      withdrawRestoredFiles()
      throw error
    }
  }

  /// One that is there is still this environment's: to open and close it again would end the locks
  /// that this process has on it, see the type's first rule.
  private func removeLockFile() {
    unsafe unlink("\(directory)/lock.mdb")
  }
}

/// A copy of the data file that is about to take its place.
extension Environment {
  private var copyPath: String { Self.copyPath(in: directory) }

  private static func copyPath(in directory: String) -> String { "\(directory)/data.mdb.copy" }

  /// Removes what a process left behind that was killed while it made a copy.
  static func removeCopy(in directory: String) {
    unsafe unlink(copyPath(in: directory))
  }

  private func writeCopy(isCompacting: Bool) throws(StoreError) {
    Self.removeCopy(in: directory)
    let file = unsafe Glibc.open(copyPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .last("open") }
    defer { close(file) }
    do throws(StoreError) {
      try copy(to: file, isCompacting: isCompacting)
      guard fsync(file) == 0 else { throw .last("fsync") }
    } catch {
      // Its room is needed.
      Self.removeCopy(in: directory)
      throw error
    }
  }

  /// Puts a copy without free pages in the place of the data file, and has `reopen` open it: what is
  /// open here stays as it is. Nobody may write meanwhile.
  ///
  /// The two files change places at once: whenever the process or the machine ends, the directory has
  /// one of them, whole. When `reopen` fails, the old one is back in its place.
  ///
  /// - Throws: ``StoreError/Reason/replaced`` when somebody has removed or replaced the files.
  func compactFiles<Result>(
    _ reopen: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    do throws(StoreError) {
      guard isOwnDataNamed else { throw StoreError(.replaced, operation: "compacting data.mdb") }
      try writeCopy(isCompacting: true)
      // The copy that was not used, or the file that was replaced.
      defer { Self.removeCopy(in: directory) }
      removeLockFile()
      try exchangeWithCopy()
      do throws(StoreError) {
        return try reopen()
      } catch {
        try? exchangeWithCopy()
        throw error
      }
    } catch {
      throw error.at(directory, content: content)
    }
  }

  private func exchangeWithCopy() throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in
      try Directory.exchange(copyPath, with: dataPath)
      try Directory.sync(directory)
    }
  }
}

extension StoreError {
  /// The failure of the call of the C library that this thread made last.
  fileprivate static func last(_ operation: String) -> StoreError {
    StoreError(Code(rawValue: errno), operation: operation)
  }
}
