import ImgSystem

/// The two files of an environment, as a directory has them at a moment.
struct EnvironmentFiles {
  /// As LMDB names them.
  static let names = ["data.mdb", "lock.mdb"]

  /// `nil` when there is none.
  private let data: FileStatus?
  /// `nil` also where a reader could make none, on a file system that is read-only.
  private let lock: FileStatus?

  /// Costs two system calls.
  init(in directory: String) {
    data = try? FileStatus(following: directory + "/data.mdb")
    lock = try? FileStatus(following: directory + "/lock.mdb")
  }

  /// The length of the data file.
  var dataByteCount: Int { data?.byteCount ?? 0 }

  var hasLock: Bool { lock != nil }

  /// Whether both are there and the same files, whatever their names are. The lock file counts:
  /// processes that lock different files do not see each other.
  func areSame(as other: EnvironmentFiles) -> Bool {
    data != nil && Self.isSame(data, other.data) && isLockSame(as: other)
  }

  /// Whether there is the same lock file, or none.
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
