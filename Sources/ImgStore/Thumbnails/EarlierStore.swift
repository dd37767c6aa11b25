import FoundationEssentials
import ImgSystem

/// The store of an earlier release, whose files lay in the directory around that of the store. It would
/// take disk space there and never be used.
package enum EarlierStore {
  /// The data last: as long as it is in its place, a move that was interrupted is completed by the next.
  private static let names = [AccessBits.fileName, "lock.mdb", "data.mdb"]

  /// Moves the files into the directory of the store. Removes them if there is a store already.
  ///
  /// The directories stay what they are, also a symbolic link to another disk. Processes that have the
  /// files open keep them.
  ///
  /// - Parameter directory: of the store; it is created if need be.
  /// - Precondition: the caller owns the data directory, and no worker runs.
  /// - Returns: a sentence for the log; `nil` if there is no earlier store.
  package static func move(to directory: String) -> String? {
    let place = UnixSocket.directory(of: directory)
    guard exists("\(place)/data.mdb") else { return nil }
    do {
      let isReplaced = exists("\(directory)/data.mdb")
      try move(from: place, to: directory, isReplaced: isReplaced)
      StoreReplacement.removeLeftovers(of: place)
      let lockPath = StoreReplacement.lockPath(of: resolved(place))
      try? FileManager.default.removeItem(atPath: lockPath)
      let fate = isReplaced ? "removed, because another is in" : "moved to"
      return "the store of an earlier version in \(place) was \(fate) \(directory)"
    } catch {
      return "the store of an earlier version in \(place) takes disk space and is not used, "
        + "because its files cannot be moved to \(directory): \(error)"
    }
  }

  private static func move(
    from place: String, to directory: String, isReplaced: Bool
  ) throws {
    try Directory.create(directory, mode: 0o700)
    for name in names where exists("\(place)/\(name)") {
      if isReplaced {
        try FileManager.default.removeItem(atPath: "\(place)/\(name)")
      } else {
        try Directory.move("\(place)/\(name)", to: "\(directory)/\(name)")
      }
    }
  }

  private static func exists(_ path: String) -> Bool { (try? FileStatus(at: path)) != nil }

  private static func resolved(_ path: String) -> String { (try? Directory.resolve(path)) ?? path }
}
