import ImgSystem

/// The two files of an environment in a directory at one time.
struct EnvironmentFiles {
  /// The names that LMDB uses.
  static let names = ["data.mdb", "lock.mdb"]

  /// The paths of both in a directory. An open environment keeps them, because it looks before each read.
  struct Paths {
    fileprivate let data: String
    fileprivate let lock: String

    init(in directory: String) {
      data = directory + "/data.mdb"
      lock = directory + "/lock.mdb"
    }
  }

  /// `nil` if there is none.
  private let data: FileStatus?
  /// `nil` also if a reader cannot create it on a read-only file system.
  private let lock: FileStatus?

  /// Costs two system calls.
  init(at paths: Paths) {
    data = try? FileStatus(following: paths.data)
    lock = try? FileStatus(following: paths.lock)
  }

  init(in directory: String) {
    self.init(at: Paths(in: directory))
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
