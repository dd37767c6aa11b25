import Glibc
package import ImgSystem

/// The coordinator of a data directory, found by the lock that it holds there, even if its socket was
/// removed.
package struct CoordinatorProcess: ~Copyable {
  private let process: OtherProcess

  package var processID: Int32 { process.processID }
  /// Where it listens, or listened.
  package let socketPath: String

  /// - Parameter lockPath: the lock of the data directory.
  /// - Returns: `nil` when no process holds the lock.
  package init?(lockPath: String) throws(SystemError) {
    guard let holder = FileLock.holder(path: lockPath),
      let process = try OtherProcess(holder.processID)
    else { return nil }
    // The descriptor pins the holder only if the lock still has the same holder.
    guard FileLock.holder(path: lockPath) == holder else { return nil }
    self.process = process
    socketPath = holder.note
  }

  /// Makes it finish what runs and leave.
  ///
  /// - Returns: when it has left.
  package func stop() throws(SystemError) {
    try process.signal(SIGTERM)
    _ = try process.waitForExit(until: nil)
  }
}
