import Glibc
import ImgSettings
import ImgSystem
import ImgTransport
import Synchronization

/// The directory of journal and store, which one coordinator owns at a time: whoever has this
/// object. The ownership ends with it, and so no later than with the process.
final class DataDirectory: Sendable {
  let path: String
  private let socketPath: String
  private let lock: Mutex<OwnedDescriptor>

  /// Creates the directory if need be and takes it.
  ///
  /// - Parameter socketPath: where the coordinator will listen; the lock names it to others.
  init(taking path: String, socketPath: String) throws(DataDirectoryError) {
    self.path = path
    self.socketPath = socketPath
    lock = Mutex(try Self.acquireLock(of: path, socketPath))
  }

  /// Takes the directory again when somebody has removed it, or its lock, since it was taken: what
  /// has no name keeps nobody off.
  ///
  /// - Returns: whether that was so.
  func retake() throws(DataDirectoryError) -> Bool {
    try lock.withLock { lock throws(DataDirectoryError) in
      if FileLock.isHeld(by: lock, at: Self.lockPath(path)) { return false }
      lock = try Self.acquireLock(of: path, socketPath)
      return true
    }
  }

  private static func acquireLock(
    of path: String, _ socketPath: String
  ) throws(DataDirectoryError) -> OwnedDescriptor {
    do throws(SystemError) {
      try Directory.createPrivate(path)
      if let lock = try FileLock.acquire(path: lockPath(path), note: socketPath) { return lock }
    } catch {
      throw .unusable(path, error)
    }
    throw .taken(path, by: FileLock.holder(path: lockPath(path)))
  }

  private static func lockPath(_ path: String) -> String { Settings.lockPath(in: path) }
}

/// Why a data directory cannot be had.
enum DataDirectoryError: Error, CustomStringConvertible {
  case unusable(_ path: String, SystemError)
  /// Another coordinator owns it; its process where it is known.
  case taken(_ path: String, by: FileLock.Holder?)

  /// Whether it is of no use to try again.
  var isFinal: Bool {
    switch self {
    case .taken: true
    case .unusable(_, let error): [EROFS, EACCES, EPERM].contains(error.code)
    }
  }

  var description: String {
    switch self {
    case .unusable(let path, let error):
      return "the data directory \(path) cannot be used: \(error)"
    case .taken(let path, let holder):
      let process = holder.map { " (process \($0.processID))" } ?? ""
      let socket = holder.map { "--socket \($0.note)" } ?? "its --socket"
      return "\(StartSignal.taken)\(process) owns the data directory \(path); ask it by "
        + "\(socket), end it with imgctl stop, or name another --data-dir"
    }
  }
}
