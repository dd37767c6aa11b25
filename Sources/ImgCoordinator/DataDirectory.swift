import ImgSystem
import ImgTransport

/// The directory of journal and store, which one coordinator owns at a time.
enum DataDirectory {
  /// Creates the directory if need be and takes its lock.
  ///
  /// - Returns: the lock, which lasts as long as the descriptor is open, and so no longer than the
  ///   process.
  static func take(_ path: String) throws(StartError) -> OwnedDescriptor {
    do throws(SystemError) {
      try Directory.createPrivate(path)
      if let lock = try FileLock.acquire(path: lockPath(path)) { return lock }
    } catch {
      throw StartError("the data directory \(path) cannot be used: \(error)")
    }
    let holder = FileLock.holder(path: lockPath(path)).map { " (process \($0))" } ?? ""
    throw StartError(
      "\(StartSignal.taken)\(holder) owns the data directory \(path); ask it by its --socket, or name another --data-dir"
    )
  }

  private static func lockPath(_ path: String) -> String { "\(path)/coordinator.lock" }
}
