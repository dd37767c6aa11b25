import Glibc

/// The two files of an environment, as a directory has them at a moment.
struct EnvironmentFiles {
  /// `nil` when there is none.
  private let data: FileIdentity?
  /// `nil` also where a reader could make none, on a file system that is read-only.
  let lock: FileIdentity?
  /// The length of the data file.
  let dataByteCount: Int

  /// Costs two system calls.
  init(in directory: String) {
    let status = Self.status(of: directory + "/data.mdb")
    data = status.map(FileIdentity.init)
    dataByteCount = status.map { Int($0.st_size) } ?? 0
    lock = Self.status(of: directory + "/lock.mdb").map(FileIdentity.init)
  }

  /// Whether both are there and the same files, whatever their names are. The lock file counts:
  /// processes that lock different files do not see each other.
  func areSame(as other: EnvironmentFiles) -> Bool {
    data != nil && data == other.data && lock == other.lock
  }

  /// Whether an open file is the data file.
  func isData(_ descriptor: CInt) -> Bool {
    data != nil && data == FileIdentity(descriptor)
  }

  private static func status(of path: String) -> stat? {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? status : nil
  }
}
