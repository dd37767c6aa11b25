import CLMDB
import Glibc
import ImgSystem

/// An open LMDB environment: a directory with `data.mdb` and `lock.mdb`, mapped into this process.
///
/// Rules of LMDB for its users:
/// - A process opens an environment at most once at a time. Closing any descriptor of the lock file
///   drops all `fcntl` locks that the process has on it (`lmdb.h`, Caveats).
/// - A forked process does not use its parent's environment. Descriptors close on exec.
/// - A reader is short, because it pins the pages that were freed since its start.
///
/// LMDB checks little of what it reads, so damaged pages may end the process. All code that reads
/// them runs in a `CrashRegion`, so that such a crash can be distinguished from others.
///
/// Any thread may read or write at any time. Readers wait for no one. Writers wait for each other,
/// over all processes.
///
/// Sendable is unchecked because of the pointer, which is constant for the life of the object. LMDB
/// allows threads to share an `MDB_env` (with `MDB_NOTLS` also its read-only transactions), except
/// while the size of the map changes. `mapLock` and the slots of `snapshots` keep all transactions
/// of this process out of that.
@safe
final class Environment: @unchecked Sendable {
  /// What a commit waits for.
  enum Durability {
    /// The disk. No commit is ever lost.
    case everyCommit
    /// The data, but not the page that makes it current (`MDB_NOMETASYNC`). A power cut may undo
    /// the last commit, and leaves the environment consistent.
    case exceptLastCommit
    /// Nothing before ``sync()`` (`MDB_NOSYNC`), for files that no other process sees until then.
    case none
  }

  struct Options {
    let content: StoreError.Content
    var isReadOnly = false
    var durability = Durability.everyCommit
    /// The size of the map; `nil` for the size that the last writer chose.
    var mapByteCount: Int?
    /// The maximum number of concurrent readers of all processes. A slot takes 64 bytes of the lock
    /// file.
    static let maximumReaders: CUnsignedInt = 512
    /// The length of LMDB's lock file: the slots and a header of two more.
    static let lockFileByteCount = 64 * (Int(maximumReaders) + 2)
    /// The maximum number of named tables.
    static let maximumDatabases: MDB_dbi = 8

    init(content: StoreError.Content) {
      self.content = content
    }
  }

  let directory: String
  let content: StoreError.Content
  let dataFile: DataFile
  private let handle: OpaquePointer
  /// The open files, even if the directory has others by now.
  private let files: EnvironmentFiles
  private let paths: EnvironmentFiles.Paths
  private let durability: Durability
  /// Shared by transactions. A change of the map's size holds it exclusively.
  private let mapLock = MapLock()
  private let snapshots: SnapshotPool

  /// Opens the environment in `directory`. A writer creates missing files, readable only by this
  /// user.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` if the file is truncated or is not an environment.
  init(directory: String, options: Options) throws(StoreError) {
    self.directory = directory
    paths = EnvironmentFiles.Paths(in: directory)
    content = options.content
    durability = options.durability
    CrashRegion.enter()
    defer { CrashRegion.leave() }
    do throws(StoreError) {
      let opened = try EnvironmentOpening(directory: directory, options: options).run()
      files = opened.files
      let pageByteCount = opened.pageByteCount
      unsafe handle = opened.release()
      unsafe dataFile = DataFile(of: handle, pageByteCount: pageByteCount)
    } catch {
      throw error.at(directory, content: options.content)
    }
    unsafe snapshots = SnapshotPool(environment: handle)
    do throws(StoreError) {
      if options.isReadOnly { try requireCompleteFile() } else { try completeOrRefuseFile() }
    } catch {
      throw error.at(directory, content: content)
    }
  }

  deinit {
    CrashRegion.enter()
    defer { CrashRegion.leave() }
    snapshots.close()
    unsafe mdb_env_close(handle)
  }

  // MARK: - Transactions

  /// Runs `body` on a snapshot.
  func read<Result>(
    _ body: (borrowing Transaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try transact(isReadOnly: true, body)
  }

  /// Runs `body` on a snapshot like ``read(_:)``, with a pooled transaction. For short, frequent
  /// reads. `body` opens no table.
  func withSnapshot<Result>(
    _ body: (borrowing Transaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    CrashRegion.enter()
    defer { CrashRegion.leave() }
    do throws(StoreError) {
      if let result = try snapshots.withSnapshot(body) { return result }
    } catch {
      throw error.at(directory, content: content)
    }
    // Reports or removes the reason why the pool has no snapshot.
    return try read(body)
  }

  /// Runs `body` as the only writer of all processes and commits, or throws without changes.
  func write<Result>(
    _ body: (borrowing Transaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try transact(isReadOnly: false, body)
  }

  /// Begins a transaction beside others of this thread.
  ///
  /// - Precondition: inside ``whileMapStays(_:)``.
  func begin(isReadOnly: Bool) throws(StoreError) -> Transaction {
    try unsafe Transaction(environment: handle, isReadOnly: isReadOnly)
  }

  /// Runs a transaction. Repeats it once if it could not begin because another process has grown
  /// the map, or because dead readers fill the reader table. Only `mdb_txn_begin` fails in these
  /// ways, so `body` runs once.
  private func transact<Result>(
    isReadOnly: Bool, _ body: (borrowing Transaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    do throws(StoreError) {
      do throws(StoreError) {
        return try attempt(isReadOnly: isReadOnly, body)
      } catch {
        switch error.code {
        case .mapResized: try followMap()
        case .readersFull: _ = try checkReaders()
        default: throw error
        }
      }
      return try attempt(isReadOnly: isReadOnly, body)
    } catch {
      throw error.at(directory, content: content)
    }
  }

  private func attempt<Result>(
    isReadOnly: Bool, _ body: (borrowing Transaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try whileMapStays { () throws(StoreError) in
      let transaction = try begin(isReadOnly: isReadOnly)
      let result = try body(transaction)
      if !isReadOnly, durability != .none, let mapByteCount = try? mapByteCount {
        dataFile.preallocate(mapByteCount: mapByteCount)
      }
      // Commits also a read-only transaction, because opened tables stay open only after a commit.
      try transaction.commit()
      if !isReadOnly { dataFile.completeAfterCommit() }
      return result
    }
  }

  /// Clears the slots of dead readers, and so unpins their pages.
  ///
  /// - Returns: their number.
  func checkReaders() throws(StoreError) -> Int {
    var deadCount: CInt = 0
    do throws(StoreError) {
      try check(unsafe mdb_reader_check(handle, &deadCount), "mdb_reader_check")
    } catch {
      throw error.at(directory, content: content)
    }
    return Int(deadCount)
  }

  // MARK: - The files

  /// The state of the files since they were opened.
  enum State {
    case intact
    /// The files or their directory were removed or replaced. No other process sees later writes.
    case detached
    /// The data file ends before its last page, or a writer is about to complete it, see
    /// ``completeOrRefuseFile()``.
    case truncated
  }

  /// Costs two system calls. A check before each group of reads detects a truncated file before a
  /// read ends the process, unless the truncation happens in between.
  var state: State {
    let named = EnvironmentFiles(at: paths)
    guard named.areSame(as: files) else { return .detached }
    // The two pages with the number of pages must exist to be read.
    guard named.dataByteCount >= 2 * dataFile.pageByteCount,
      let needed = try? whileMapStays({ () throws(StoreError) in try dataFile.pagesByteCount() }),
      needed <= named.dataByteCount
    else { return .truncated }
    return .intact
  }

  /// Whether the open files are no longer those in the directory.
  var isDetached: Bool { !EnvironmentFiles(at: paths).areSame(as: files) }

  /// Whether the directory has the open lock file, even if the data file was removed.
  var isLockFileNamed: Bool {
    files.hasLock && EnvironmentFiles(at: paths).isLockSame(as: files)
  }

  /// Waits until all commits are on the disk, for ``Durability/none``.
  func sync() throws(StoreError) {
    do throws(StoreError) {
      try check(unsafe mdb_env_sync(handle, 1), "mdb_env_sync")
    } catch {
      throw error.at(directory, content: content)
    }
  }

  /// Writes all committed data without free pages into an open, empty file. This thread must not
  /// have a write transaction.
  func copyWithoutFreePages(to descriptor: CInt) throws(StoreError) {
    try whileMapStays { () throws(StoreError) in
      let flags = CUnsignedInt(MDB_CP_COMPACT)
      try check(unsafe mdb_env_copyfd2(handle, descriptor, flags), "mdb_env_copyfd2")
    }
  }

  /// The bytes of all pages up to the last one ever used, and of the free ones among them.
  func pageUse() throws(StoreError) -> (all: Int, free: Int) {
    try read { transaction throws(StoreError) in
      let free = try transaction.freePageCount() * dataFile.pageByteCount
      return (try dataFile.pagesByteCount(), free)
    }
  }

  // MARK: - The map

  /// The size of the map, which limits the data file.
  ///
  /// - Precondition: no other thread changes the map meanwhile. Inside a transaction, none can.
  var mapByteCount: Int {
    get throws(StoreError) {
      var information = unsafe MDB_envinfo()
      try check(unsafe mdb_env_info(handle, &information), "mdb_env_info")
      return unsafe information.me_mapsize
    }
  }

  /// Doubles the map, after the running transactions of this process.
  ///
  /// - Throws: ``StoreError/Reason/full`` at `limitByteCount`.
  func growMap(limitByteCount: Int) throws(StoreError) {
    try whileMapChanges { () throws(StoreError) in
      let (doubled, overflow) = try mapByteCount.multipliedReportingOverflow(by: 2)
      guard !overflow, doubled <= limitByteCount else {
        throw StoreError(
          .mapFull, operation: "mdb_env_set_mapsize", path: directory, content: content)
      }
      try check(unsafe mdb_env_set_mapsize(handle, doubled), "mdb_env_set_mapsize")
    }
  }

  /// Takes the size of the map from another process.
  private func followMap() throws(StoreError) {
    try whileMapChanges { () throws(StoreError) in
      try check(unsafe mdb_env_set_mapsize(handle, 0), "mdb_env_set_mapsize")
      try requireCompleteFile()
    }
  }

  func whileMapStays<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    CrashRegion.enter()
    defer { CrashRegion.leave() }
    return try mapLock.shared(body)
  }

  private func whileMapChanges(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    CrashRegion.enter()
    defer { CrashRegion.leave() }
    // In this order, because a thread with a pooled snapshot may begin a further transaction.
    try snapshots.whileIdle { () throws(StoreError) in try mapLock.exclusive(body) }
  }
}

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

/// Keeps the map of an environment in its place: transactions share the lock, and a change of the
/// map holds it exclusively.
///
/// Sendable is unchecked because of the pointer. It is constant for the life of the object, and
/// pthreads allow any thread to use the lock behind it.
@safe
final class MapLock: @unchecked Sendable {
  private let lock: UnsafeMutablePointer<pthread_rwlock_t>

  init() {
    unsafe lock = .allocate(capacity: 1)
    unsafe lock.initialize(to: pthread_rwlock_t())
    unsafe pthread_rwlock_init(lock, nil)
  }

  deinit {
    unsafe pthread_rwlock_destroy(lock)
    unsafe lock.deallocate()
  }

  func shared<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
    unsafe pthread_rwlock_rdlock(lock)
    defer { unsafe pthread_rwlock_unlock(lock) }
    return try body()
  }

  func exclusive(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    unsafe pthread_rwlock_wrlock(lock)
    defer { unsafe pthread_rwlock_unlock(lock) }
    try body()
  }
}
