import FoundationEssentials
import Glibc
package import ImgSystem

/// Replaces a store's directory. Holds a lock, so that one process at a time does this.
///
/// There may be two files beside the directory `store`: the lock `store.lock`, and `store.spare`, a
/// directory that is about to become the store or was the store until now. If the lock is free, a
/// killed process left the spare directory.
struct StoreReplacement: ~Copyable {
  /// The store's directory with resolved symbolic links, so that a link to it is not replaced.
  private let directory: String
  private let lock: OwnedDescriptor

  /// The directory for a new store.
  var spareDirectory: String { Self.spareDirectory(of: directory) }

  /// Waits for the lock; `nil` if the directory does not exist, because a process or a user has
  /// just removed it.
  ///
  /// - Parameter isWaiting: `false` returns `nil` if another process holds the lock.
  /// - Throws: ``StoreError/Reason/notPermitted`` if the directory belongs to another user, who
  ///   would not own the new store.
  init?(of directory: String, isWaiting: Bool = true) throws(StoreError) {
    let (resolved, isOwn): (String, Bool)
    do throws(StoreError) {
      (resolved, isOwn) = try Self.inStore(directory) { () throws(SystemError) in
        let resolved = try Directory.resolve(directory)
        return (resolved, try Directory.isOwn(resolved))
      }
    } catch {
      guard error.reason == .absent else { throw error }
      return nil
    }
    guard isOwn else {
      throw StoreError(.notPermitted, operation: "replacing another user's store", path: directory)
    }
    let path = Self.lockPath(of: resolved)
    let lock = try Self.inStore(directory) { () throws(SystemError) -> OwnedDescriptor? in
      try isWaiting ? FileLock.acquire(waitingFor: path) : FileLock.acquire(path: path)
    }
    guard let lock else { return nil }
    self.lock = lock
    self.directory = resolved
  }

  private init(resolved directory: String, lock: consuming OwnedDescriptor) {
    self.directory = directory
    self.lock = lock
  }

  /// Removes the leftovers of a process that was killed while it held the lock.
  static func removeLeftovers(of directory: String) {
    // An error here will also stop the next replacement, which reports it.
    guard let resolved = try? Directory.resolve(directory),
      FileManager.default.fileExists(atPath: spareDirectory(of: resolved)),
      let lock = try? FileLock.acquire(path: lockPath(of: resolved))
    else { return }
    StoreReplacement(resolved: resolved, lock: lock).removeSpare()
  }

  /// Removes the spare directory, if there is one. Processes keep its files that they have open.
  ///
  /// A failure only costs disk space. The next replacement tries again.
  func removeSpare() {
    // A process that opens the files during the rename may still create some before it notices, so
    // the directory may not be empty at the first attempt.
    for _ in 0..<4 {
      guard FileManager.default.fileExists(atPath: spareDirectory) else { return }
      try? FileManager.default.removeItem(atPath: spareDirectory)
    }
  }

  /// Exchanges the spare directory and the store atomically. Both have the same file of access
  /// bits, so none is lost.
  ///
  /// - Precondition: this process is the only writer of the old environment, see
  ///   ``Environment/replaceByCopy(in:_:)``.
  func exchange() throws(StoreError) {
    try Self.inStore(directory) { () throws(SystemError) in
      for name in ["", "/data.mdb", "/lock.mdb"] {
        try Directory.copyPermissions(from: directory + name, to: spareDirectory + name)
      }
      // If this fails, for example on a file system without links, the next writer recreates the
      // file: counters and access bits are lost, thumbnails are not.
      try? Directory.link(
        "\(directory)/\(AccessBits.fileName)", as: "\(spareDirectory)/\(AccessBits.fileName)")
      try Directory.sync(spareDirectory)
      try Directory.exchange(directory, with: spareDirectory)
      // From here on, the copy is the store. A power cut may undo the exchange and leave the old
      // store intact.
      try? Directory.sync(parentDirectory)
    }
  }

  /// Removes the store, so that the next writer recreates it.
  func removeStore() throws(StoreError) {
    removeSpare()
    try Self.inStore(directory) { () throws(SystemError) in
      try Directory.move(directory, to: spareDirectory)
    }
    removeSpare()
  }

  private var parentDirectory: String {
    directory.lastIndex(of: "/").map { String(directory[...$0]) } ?? "."
  }

  /// Adds the store's directory to the errors of system calls.
  private static func inStore<Result: ~Copyable>(
    _ directory: String, _ body: () throws(SystemError) -> Result
  ) throws(StoreError) -> Result {
    do throws(StoreError) {
      return try StoreError.wrapping(body)
    } catch {
      throw error.at(directory, content: .thumbnails)
    }
  }

  static func lockPath(of directory: String) -> String { directory + ".lock" }

  private static func spareDirectory(of directory: String) -> String { directory + ".spare" }
}

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

/// The journal of an earlier release, which lay beside the store, in the directory of the cache.
package enum EarlierJournal {
  /// Moves it into the directory of the journal, unless there is one.
  ///
  /// - Parameters:
  ///   - cacheDirectory: of the store.
  ///   - directory: of the journal, in another directory.
  /// - Precondition: the caller owns both, so that no process has the journal open for writing.
  /// - Returns: a sentence for the log; `nil` if there is no earlier journal.
  package static func move(
    from cacheDirectory: String, to directory: String
  ) throws(SystemError) -> String? {
    let earlier = "\(cacheDirectory)/journal"
    guard exists("\(earlier)/data.mdb") else { return nil }
    guard !exists("\(directory)/data.mdb") else {
      return "the jobs of an earlier version in \(earlier) are not used, because there are others "
        + "in \(directory)"
    }
    do throws(SystemError) {
      try Directory.move(earlier, to: directory)
    } catch {
      guard error.code == EXDEV else { throw error }
      try moveToOtherDisk(earlier, to: directory)
    }
    return "the jobs of an earlier version in \(earlier) were moved to \(directory)"
  }

  /// The copy gets its name when it is complete. What may be secret is overwritten.
  private static func moveToOtherDisk(
    _ earlier: String, to directory: String
  ) throws(SystemError) {
    let copy = "\(directory).copy"
    let files = FileManager.default
    try? files.removeItem(atPath: copy)
    do {
      try files.copyItem(atPath: earlier, toPath: copy)
    } catch {
      throw SystemError(operation: "copy \(earlier) to \(copy) (\(error))", code: EIO)
    }
    try Directory.sync(copy)
    try Directory.move(copy, to: directory)
    for name in (try? files.contentsOfDirectory(atPath: "\(earlier)/headers")) ?? [] {
      try? FileIO.erase("\(earlier)/headers/\(name)")
    }
    try? files.removeItem(atPath: earlier)
  }

  private static func exists(_ path: String) -> Bool { (try? FileStatus(at: path)) != nil }
}

/// The maximum size of a store.
package struct StoreBudget: Hashable, Sendable {
  /// The budget of the settings.
  package let configuredByteCount: Int64
  /// The limit of the disk; above the configured budget if the disk has enough space.
  package let diskByteCount: Int64

  /// The store leaves this share of its disk free, for the journal and for other programs.
  private static let marginDivisor: Int64 = 16
  private static let mostMarginByteCount: Int64 = 64 << 20

  /// - Parameters:
  ///   - fileByteCount: the length of the data file.
  ///   - disk: the file system of the data file; `nil` if unknown.
  init(configuredByteCount: Int64, fileByteCount: Int, disk: DiskSpace?) {
    self.configuredByteCount = configuredByteCount
    guard let disk else {
      diskByteCount = .max
      return
    }
    let margin = min(disk.byteCount / Self.marginDivisor, Self.mostMarginByteCount)
    let available = max(0, Int64(fileByteCount) + disk.freeByteCount - margin)
    // The file is up to a quarter larger than its content, see `ThumbnailStore`.
    diskByteCount = available / 5 * 4
  }

  /// What a store has of its disk, or could have: the free space and its file.
  ///
  /// - Parameters:
  ///   - directory: of the store, which may not exist yet.
  ///   - parent: the directory that contains it.
  package static func availableByteCount(
    for directory: String, in parent: String
  ) throws(SystemError) -> Int64 {
    let place = try FileIO.open(naming: parent)
    let disk = try DiskSpace(of: place.rawValue)
    let fileByteCount = EnvironmentFiles(in: directory).dataByteCount
    return disk.freeByteCount.addingReportingOverflow(Int64(fileByteCount)).partialValue
  }

  package var effectiveByteCount: Int64 { min(configuredByteCount, diskByteCount) }

  /// Whether the disk has less space than the settings allow.
  package var isLimitedByDisk: Bool { diskByteCount < configuredByteCount }
}
