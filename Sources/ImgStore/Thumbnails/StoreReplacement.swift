import FoundationEssentials
import ImgSystem

/// The right to put something else in the place of a store's directory, which one process at a time
/// has, and the steps of doing so.
///
/// Beside the directory `store` there may be two files of this: `store.lock`, locked by whoever has
/// the right, and `store.spare`, a directory that is about to become the store or has just been it.
/// Whatever lies there while nobody holds the lock was left by a process that was killed.
struct StoreReplacement: ~Copyable {
  /// The store's directory, symbolic links resolved: what is replaced is not a link to it.
  private let directory: String
  private let lock: OwnedDescriptor

  /// Where a new store is made.
  var spareDirectory: String { Self.spareDirectory(of: directory) }

  /// Waits until no other process has the right; `nil` when there is no directory: another process
  /// has just taken it away, or a person.
  ///
  /// - Parameter isWaiting: when `false`, `nil` also when another process has the right.
  /// - Throws: ``StoreError/Reason/notPermitted`` when the directory is another user's: a store that
  ///   this process made in its place would not be theirs.
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

  /// Removes what a process left behind that was killed while it had the right.
  static func removeLeftovers(of directory: String) {
    // Whatever is in the way is in the way of the next one, too, who is told.
    guard let resolved = try? Directory.resolve(directory),
      FileManager.default.fileExists(atPath: spareDirectory(of: resolved)),
      let lock = try? FileLock.acquire(path: lockPath(of: resolved))
    else { return }
    StoreReplacement(resolved: resolved, lock: lock).removeSpare()
  }

  /// Removes the spare directory, if there is one. Whoever has files of it open keeps them.
  ///
  /// That it fails is nobody's trouble but the disk's, and left to the next one.
  func removeSpare() {
    // A process that began to open these files before their directory had another name may still
    // create some, and then notices; so what was emptied may be so no more.
    for _ in 0..<4 {
      guard FileManager.default.fileExists(atPath: spareDirectory) else { return }
      try? FileManager.default.removeItem(atPath: spareDirectory)
    }
  }

  /// Makes the environment in the spare directory the store, and the store the spare one, at once.
  /// The file of uses is the same in both, so that none is lost.
  ///
  /// - Precondition: this process is the only writer of the old environment, see
  ///   ``Environment/replaceByCopy(in:_:)``.
  func exchange() throws(StoreError) {
    try Self.inStore(directory) { () throws(SystemError) in
      for name in ["", "/data.mdb", "/lock.mdb"] {
        try Directory.copyPermissions(from: directory + name, to: spareDirectory + name)
      }
      // Without it, as on a file system that has no links, the next writer creates it anew: counts
      // and uses are gone, thumbnails are not.
      try? Directory.link("\(directory)/\(UsesFile.name)", as: "\(spareDirectory)/\(UsesFile.name)")
      try Directory.sync(spareDirectory)
      try Directory.exchange(directory, with: spareDirectory)
      // From here on the copy is the store. A power cut may undo the exchange, and then the store is
      // the old one, whole.
      try? Directory.sync(parentDirectory)
    }
  }

  /// Takes the store away, so that the next writer creates it.
  func setAside() throws(StoreError) {
    removeSpare()
    try Self.inStore(directory) { () throws(SystemError) in
      try Directory.move(directory, to: spareDirectory)
    }
    removeSpare()
  }

  private var parentDirectory: String {
    directory.lastIndex(of: "/").map { String(directory[...$0]) } ?? "."
  }

  /// Names the store in the errors of system calls.
  private static func inStore<Result: ~Copyable>(
    _ directory: String, _ body: () throws(SystemError) -> Result
  ) throws(StoreError) -> Result {
    do throws(StoreError) {
      return try StoreError.wrapping(body)
    } catch {
      throw error.at(directory, content: .thumbnails)
    }
  }

  private static func lockPath(of directory: String) -> String { directory + ".lock" }

  private static func spareDirectory(of directory: String) -> String { directory + ".spare" }
}
