import ImgSettings
import ImgStore
import ImgSystem
import ImgTransport

/// The directory of journal and store. One coordinator owns it at a time: the process that holds
/// this object. The ownership ends with the object, and so no later than with the process.
final class DataDirectory: Sendable {
  let path: String
  private let lock: OwnedDescriptor
  private let storePlace: FileStatus
  /// What the log should say of the store of an earlier release; `nil` for nothing.
  let remark: String?

  /// Creates the directory and that of the store if need be, and takes both. Moves the store of an
  /// earlier release.
  ///
  /// - Parameter socketPath: where the coordinator will listen; the lock names it to others.
  init(taking path: String, socketPath: String) throws(DataDirectoryError) {
    self.path = path
    do throws(SystemError) {
      try Directory.createPrivate(path)
      if let lock = try FileLock.acquire(path: Self.lockPath(path), note: socketPath) {
        let place = Settings.storePlace(in: path)
        try Directory.create(place, mode: 0o700)
        remark = EarlierStore.move(to: Settings.storeDirectory(in: path))
        storePlace = try FileStatus(following: place)
        self.lock = lock
        return
      }
    } catch {
      throw .unusable(path, error)
    }
    throw .taken(path, by: FileLock.holder(path: Self.lockPath(path)))
  }

  /// Whether the directory still has the lock that this object holds. A lock without a name keeps no
  /// other coordinator off.
  var isOwned: Bool { FileLock.isHeld(by: lock, at: Self.lockPath(path)) }

  /// Whether the directory of the store is the one that workers may use. They reach no other.
  var hasStorePlace: Bool {
    let found = try? FileStatus(following: Settings.storePlace(in: path))
    return found.map(storePlace.isSameFile) ?? false
  }

  private static func lockPath(_ path: String) -> String { Settings.lockPath(in: path) }
}

/// Why a coordinator cannot own a data directory.
enum DataDirectoryError: Error, CustomStringConvertible {
  case unusable(_ path: String, SystemError)
  /// Another coordinator owns it: its process, if that is known.
  case taken(_ path: String, by: FileLock.Holder?)

  var description: String {
    switch self {
    case .unusable(let path, let error):
      return "the data directory \(path) cannot be used: \(error)"
    case .taken(let path, let holder):
      let process = holder.map { " (process \($0.processID))" } ?? ""
      let socket = holder.map { "--socket \($0.note)" } ?? "its --socket"
      return "\(ReadinessMessage.taken)\(process) owns the data directory \(path); ask it by "
        + "\(socket), end it with imgctl stop, or name another --data-dir"
    }
  }
}
