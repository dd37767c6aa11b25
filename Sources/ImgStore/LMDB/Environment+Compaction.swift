import Glibc
import ImgSystem

/// Compaction of the journal: replaces the data file by a copy without free pages.
extension Environment {
  private var dataPath: String { "\(directory)/data.mdb" }

  private var copyPath: String { Self.copyPath(in: directory) }

  private static func copyPath(in directory: String) -> String { "\(directory)/data.mdb.copy" }

  /// Removes the incomplete copy of a killed process.
  static func removeCopy(in directory: String) {
    unsafe unlink(copyPath(in: directory))
  }

  /// Replaces the data file by a copy without free pages, and calls `reopen` to open it. This
  /// environment keeps the old file. No thread may write meanwhile.
  ///
  /// The files are exchanged atomically, so that a crash at any time leaves one of them intact in
  /// the directory. If `reopen` fails, the old file is restored.
  ///
  /// - Throws: ``StoreError/Reason/replaced`` if the files were removed or replaced.
  func compactFiles<Result>(
    _ reopen: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    do throws(StoreError) {
      guard isOwnDataNamed else { throw StoreError(.replaced, operation: "compacting data.mdb") }
      try writeCopy()
      // Removes the unused copy or the replaced file.
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
      // The disk space is needed.
      Self.removeCopy(in: directory)
      throw error
    }
  }

  private var isOwnDataNamed: Bool {
    guard let descriptor = try? dataFile.descriptor() else { return false }
    return EnvironmentFiles(in: directory).isData(descriptor)
  }

  /// The lock file still belongs to this environment. Opening and closing it again would drop the
  /// locks of this process, see the first rule of ``Environment``.
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
  /// The error of this thread's last call of the C library.
  fileprivate static func last(_ operation: String) -> StoreError {
    StoreError(Code(rawValue: errno), operation: operation)
  }
}
