import FoundationEssentials
import ImgSystem

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
