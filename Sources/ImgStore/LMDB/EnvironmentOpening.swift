import CLMDB
import Glibc
import ImgSystem

/// Opens the files of an environment, all in the same directory, even if another process removes or
/// replaces the directory meanwhile.
///
/// LMDB opens the data file and the lock file by their paths, one after the other; a reader opens
/// the data file first. If the directory is replaced in between, the transaction number of one
/// environment would get into the lock file of another, which its readers and writers use. So LMDB
/// gets a path through the open directory. It keeps the path only for `mdb_env_get_path` (`me_path`
/// in its source).
///
/// A directory in which another user can create or replace files is refused.
struct EnvironmentOpening {
  let directory: String
  let options: Environment.Options

  /// The maximum number of replacements during one opening.
  private static let maximumAttempts = 8

  /// - Throws: ``StoreError/Reason/replaced`` if the directory was replaced at every attempt.
  func run() throws(StoreError) -> OpenedEnvironment {
    for _ in 0..<Self.maximumAttempts {
      if let opened = try attempt() { return opened }
    }
    throw StoreError(.replaced, operation: "opening")
  }

  /// - Returns: `nil` if the directory or a file in it was replaced meanwhile.
  private func attempt() throws(StoreError) -> OpenedEnvironment? {
    let place: OpenDirectory
    do throws(SystemError) {
      if !options.isReadOnly { try Directory.create(directory, mode: 0o700) }
      try Directory.requireExclusive(directory)
      try refuseLinks()
      place = try OpenDirectory(directory)
    } catch {
      // It was removed after its creation. A reader does not create it.
      if error.code == ENOENT, !options.isReadOnly { return nil }
      throw StoreError(error)
    }
    do throws(StoreError) {
      if !options.isReadOnly { try Self.reserveLockFile(in: place.path) }
      let before = EnvironmentFiles(in: place.path)
      let opened = try open(at: place.path)
      guard place.isNamed(directory), opened.isConsistent(with: before) else {
        return nil
      }
      return opened
    } catch {
      // Ignore errors in a directory that was removed.
      guard place.isNamed(directory) else { return nil }
      throw error
    }
  }

  /// Refuses symbolic links, because LMDB follows them and overwrites their targets.
  ///
  /// - Precondition: no other user can write to the directory and create a link later.
  private func refuseLinks() throws(SystemError) {
    for name in EnvironmentFiles.names {
      guard let status = try? FileStatus(at: "\(directory)/\(name)"), !status.isRegularFile else {
        continue
      }
      throw SystemError(
        operation: "open \(directory)/\(name), which is not a regular file", code: EPERM)
    }
  }

  private func open(at path: String) throws(StoreError) -> OpenedEnvironment {
    var created: OpaquePointer?
    try check(unsafe mdb_env_create(&created), "mdb_env_create")
    guard let created = unsafe created else {
      throw StoreError(.outOfMemory, operation: "mdb_env_create")
    }
    do throws(StoreError) {
      try check(
        unsafe mdb_env_set_maxdbs(created, Environment.Options.maximumDatabases),
        "mdb_env_set_maxdbs")
      try check(
        unsafe mdb_env_set_maxreaders(created, Environment.Options.maximumReaders),
        "mdb_env_set_maxreaders")
      if let byteCount = options.mapByteCount {
        try check(unsafe mdb_env_set_mapsize(created, byteCount), "mdb_env_set_mapsize")
      }
      try check(unsafe mdb_env_open(created, path, flags, 0o600), "mdb_env_open")
    } catch {
      // Required also if opening fails (`lmdb.h`, mdb_env_open).
      unsafe mdb_env_close(created)
      throw error
    }
    return unsafe OpenedEnvironment(created, path: path)
  }

  private var flags: CUnsignedInt {
    var flags = MDB_NOTLS
    if options.isReadOnly { flags |= MDB_RDONLY }
    switch options.durability {
    case .everyCommit: break
    case .exceptLastCommit: flags |= MDB_NOMETASYNC
    case .none: flags |= MDB_NOSYNC
    }
    return CUnsignedInt(flags)
  }

  /// Allocates the disk space of the lock file. LMDB would create it with a hole and map it, and an
  /// access to a page without disk space is SIGBUS.
  ///
  /// - Precondition: this process does not have the environment open, because closing a descriptor
  ///   of the lock file drops its locks.
  private static func reserveLockFile(in directory: String) throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in
      let file = try FileIO.open(updating: directory + "/lock.mdb")
      try FileIO.allocate(0..<Environment.Options.lockFileByteCount, of: file.rawValue)
    }
  }
}

/// An open environment, which closes in `deinit` unless it is released.
@safe
struct OpenedEnvironment: ~Copyable {
  private let handle: OpaquePointer
  /// The files in the directory just after the opening.
  let files: EnvironmentFiles
  let pageByteCount: Int

  /// - Parameter path: the directory of the environment.
  init(_ handle: OpaquePointer, path: String) {
    unsafe self.handle = handle
    files = EnvironmentFiles(in: path)
    var statistics = MDB_stat()
    // Fails only for a null pointer (`mdb_env_stat` in LMDB's source).
    unsafe mdb_env_stat(handle, &statistics)
    pageByteCount = Int(statistics.ms_psize)
  }

  deinit {
    unsafe mdb_env_close(handle)
  }

  /// Releases ownership without closing. The caller closes the environment.
  consuming func release() -> OpaquePointer {
    let handle = unsafe handle
    discard self
    return unsafe handle
  }

  /// Whether the directory has the opened files. If there was no lock file `before`, this or a
  /// concurrent opening created it.
  func isConsistent(with before: EnvironmentFiles) -> Bool {
    var descriptor: CInt = -1
    guard unsafe mdb_env_get_fd(handle, &descriptor) == MDB_SUCCESS else { return false }
    return files.isData(descriptor) && (!before.hasLock || files.isLockSame(as: before))
  }
}
