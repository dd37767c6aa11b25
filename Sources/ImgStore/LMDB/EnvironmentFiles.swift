import ImgSystem

/// The two files of an environment in a directory at one time.
struct EnvironmentFiles {
  /// The names that LMDB uses.
  static let names = ["data.mdb", "lock.mdb"]

  /// `nil` if there is none.
  private let data: FileStatus?
  /// `nil` also if a reader cannot create it on a read-only file system.
  private let lock: FileStatus?

  /// Costs two system calls.
  init(in directory: String) {
    data = try? FileStatus(following: directory + "/data.mdb")
    lock = try? FileStatus(following: directory + "/lock.mdb")
  }

  /// The length of the data file.
  var dataByteCount: Int { data?.byteCount ?? 0 }

  var hasLock: Bool { lock != nil }

  /// Whether both exist and are the same files. The lock file counts, because processes with
  /// different lock files do not see each other.
  func areSame(as other: EnvironmentFiles) -> Bool {
    data != nil && Self.isSame(data, other.data) && isLockSame(as: other)
  }

  /// Whether both have the same lock file or none.
  func isLockSame(as other: EnvironmentFiles) -> Bool { Self.isSame(lock, other.lock) }

  /// Whether an open file is the data file.
  func isData(_ descriptor: CInt) -> Bool {
    data != nil && Self.isSame(data, try? FileStatus(of: descriptor))
  }

  private static func isSame(_ file: FileStatus?, _ other: FileStatus?) -> Bool {
    guard let file, let other else { return file == nil && other == nil }
    return file.isSameFile(as: other)
  }
}
