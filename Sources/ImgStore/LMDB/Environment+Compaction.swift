import CLMDB
import Glibc
import ImgSystem

/// Compaction of the journal: a copy without free pages takes the place of the data file.
extension Environment {
  private var dataPath: String { "\(directory)/data.mdb" }

  private var copyPath: String { Self.copyPath(in: directory) }

  private static func copyPath(in directory: String) -> String { "\(directory)/data.mdb.copy" }

  /// Removes what a process left behind that was killed while it made a copy.
  static func removeCopy(in directory: String) {
    unsafe unlink(copyPath(in: directory))
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
      try writeCopy()
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

  private func writeCopy() throws(StoreError) {
    Self.removeCopy(in: directory)
    let file = unsafe Glibc.open(copyPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .last("open") }
    defer { close(file) }
    do throws(StoreError) {
      try copyWithoutFreePages(to: file)
      guard fsync(file) == 0 else { throw .last("fsync") }
    } catch {
      // Its room is needed.
      Self.removeCopy(in: directory)
      throw error
    }
  }

  private var isOwnDataNamed: Bool {
    var descriptor: CInt = -1
    guard unsafe mdb_env_get_fd(handle, &descriptor) == MDB_SUCCESS else { return false }
    return EnvironmentFiles(in: directory).isData(descriptor)
  }

  /// One that is there is still this environment's: to open and close it again would end the locks
  /// that this process has on it, see the type's first rule.
  private func removeLockFile() {
    unsafe unlink("\(directory)/lock.mdb")
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
