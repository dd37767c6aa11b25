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
  /// - Throws: ``StoreError/Reason/replaced`` when there is another data file meanwhile, which
  ///   stays; ``StoreError/Reason/absent`` when somebody removes the directory just now.
  func restoreFiles() throws(StoreError) {
    do throws(StoreError) {
      try restore()
    } catch {
      throw error.at(directory, content: content)
    }
  }

  /// Takes back what ``restoreFiles()`` wrote and could not be opened: whoever restores them again
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

  private func restore() throws(StoreError) {
    let copyPath = "\(directory)/data.mdb.copy"
    if unsafe mkdir(directory, 0o700) != 0, errno != EEXIST { throw .last("mkdir") }
    // Its own may still be there, when only the lock file has gone; it is replaced by its copy.
    guard !EnvironmentFiles(in: directory).hasData || isOwnDataNamed else {
      throw StoreError(.replaced, operation: "restoring data.mdb")
    }
    // What an attempt has left that was cut short.
    unsafe unlink(copyPath)
    try writeCopy(to: copyPath)
    // One that was left behind is still this environment's: to open and close it again would end the
    // locks that this process has on it, see the type's first rule.
    unsafe unlink("\(directory)/lock.mdb")
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

  private func writeCopy(to path: String) throws(StoreError) {
    let file = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .last("open") }
    defer { close(file) }
    try copy(to: file)
    guard fsync(file) == 0 else { throw .last("fsync") }
  }
}

extension StoreError {
  /// The failure of the call of the C library that this thread made last.
  fileprivate static func last(_ operation: String) -> StoreError {
    StoreError(Code(rawValue: errno), operation: operation)
  }
}
