import CLMDB
import Glibc
import ImgSystem

/// Opens the files of an environment, all of them in one directory, although somebody may remove or
/// replace that while they are being opened.
///
/// LMDB opens the data file and the lock file by their paths, one after the other, a reader the
/// data file first. Between the two, a directory of the same name may have come in place: then the
/// transaction number of one environment would get into the lock file of another, whose readers and
/// writers go by it. So LMDB is given a path that leads through the open directory. It keeps the
/// path for `mdb_env_get_path` and uses it for nothing else (`me_path` in its source).
///
/// A directory in which another user could put or replace files is refused.
struct EnvironmentOpening {
  let directory: String
  let options: Environment.Options

  /// Nobody replaces a directory more often while one opening waits.
  private static let maximumAttempts = 8

  /// - Throws: ``StoreError/Reason/replaced`` when the directory was another one time and again.
  func run() throws(StoreError) -> OpenedEnvironment {
    for _ in 0..<Self.maximumAttempts {
      if let opened = try attempt() { return opened }
    }
    throw StoreError(.replaced, operation: "opening")
  }

  /// - Returns: `nil` when the directory or a file in it was replaced meanwhile.
  private func attempt() throws(StoreError) -> OpenedEnvironment? {
    let place: OpenDirectory
    do throws(SystemError) {
      if !options.isReadOnly { try Directory.create(directory, mode: 0o700) }
      try Directory.requireExclusive(directory)
      try refuseLinks()
      place = try OpenDirectory(directory)
    } catch {
      // Removed since it was created; nothing that a reader could do anything about.
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
      // Files that lack or are odd in a directory that has gone say nothing.
      guard place.isNamed(directory) else { return nil }
      throw error
    }
  }

  /// LMDB follows symbolic links and overwrites what they lead to.
  ///
  /// - Precondition: no other user can write in the directory, so that none makes a link later.
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
      // Also when opening fails (`lmdb.h`, mdb_env_open).
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

  /// Takes all the room of the lock file, which LMDB would create with a hole and map: to find a
  /// disk full on touching a page is SIGBUS.
  ///
  /// - Precondition: this process has the environment not open, because closing a descriptor of
  ///   the lock file drops its locks.
  private static func reserveLockFile(in directory: String) throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in
      let file = try FileIO.open(updating: directory + "/lock.mdb")
      try FileIO.allocate(0..<Environment.Options.lockFileByteCount, of: file.rawValue)
    }
  }
}

/// An environment that is closed at the end of its life, unless it is released.
@safe
struct OpenedEnvironment: ~Copyable {
  private let handle: OpaquePointer
  /// As they were in the directory just after they were opened.
  let files: EnvironmentFiles
  let pageByteCount: Int

  /// - Parameter path: where it was opened.
  init(_ handle: OpaquePointer, path: String) {
    unsafe self.handle = handle
    files = EnvironmentFiles(in: path)
    var statistics = MDB_stat()
    // Fails for a null pointer alone (`mdb_env_stat` in LMDB's source).
    unsafe mdb_env_stat(handle, &statistics)
    pageByteCount = Int(statistics.ms_psize)
  }

  deinit {
    unsafe mdb_env_close(handle)
  }

  /// Gives the environment away open: whoever takes it closes it.
  consuming func release() -> OpaquePointer {
    let handle = unsafe handle
    discard self
    return unsafe handle
  }

  /// Whether the directory has the files that were opened. A lock file that was not there `before`
  /// was created by the opening, or by another of the same time.
  func isConsistent(with before: EnvironmentFiles) -> Bool {
    var descriptor: CInt = -1
    guard unsafe mdb_env_get_fd(handle, &descriptor) == MDB_SUCCESS else { return false }
    return files.isData(descriptor) && (!before.hasLock || files.isLockSame(as: before))
  }
}
