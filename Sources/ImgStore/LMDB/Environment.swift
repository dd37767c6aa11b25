import CLMDB
import Glibc

/// An open LMDB environment: a directory with `data.mdb` and `lock.mdb`, mapped into this process.
///
/// Rules of LMDB that its users keep:
/// - A process opens an environment at most once at a time: closing any descriptor of the lock file
///   drops all `fcntl` locks the process has on it (`lmdb.h`, Caveats).
/// - A process that was forked does not touch its parent's environment. Descriptors close on exec.
/// - A reader is short: the pages that were freed since it began stay occupied while it lives.
///
/// Any thread may read or write at any time. Readers do not wait for anybody; writers wait for each
/// other, over all processes.
///
/// Sendable is unchecked because of the two pointers. Both are constant for the life of the object;
/// LMDB allows an `MDB_env` to be shared by threads (with `MDB_NOTLS` its read-only transactions,
/// too, are bound to no thread), except while the map changes its size, and `mapLock` keeps every
/// transaction of this process out of that.
@safe
final class Environment: @unchecked Sendable {
  /// What a commit waits for.
  enum Durability {
    /// The disk: nothing that was committed is ever lost.
    case everyCommit
    /// The data but not the page that makes them current (`MDB_NOMETASYNC`): a power cut may undo
    /// the last commit, and leaves the environment consistent.
    case exceptLastCommit
  }

  struct Options {
    let content: StoreError.Content
    var isReadOnly = false
    var durability = Durability.everyCommit
    /// The size of the map; `nil` takes the size that the last writer chose.
    var mapByteCount: Int?
    /// Readers at once, of all processes. A slot takes 64 bytes of the lock file.
    static let maximumReaders: CUnsignedInt = 512
    /// Named tables; no environment here has more.
    static let maximumDatabases: MDB_dbi = 8

    init(content: StoreError.Content) {
      self.content = content
    }
  }

  private let handle: OpaquePointer
  /// Shared by transactions, held alone by whoever changes the size of the map.
  private let mapLock: UnsafeMutablePointer<pthread_rwlock_t>
  let directory: String
  let content: StoreError.Content

  /// How long another process may take between a commit and the completion of its file.
  private static let completionMicroseconds: useconds_t = 50_000

  /// Opens the environment in `directory`; a writer creates what does not exist, readable by this
  /// user alone.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` when the file is cut off or is no environment.
  init(directory: String, options: Options) throws(StoreError) {
    if !options.isReadOnly { try createDirectory(directory) }
    var created: OpaquePointer?
    try check(unsafe mdb_env_create(&created), "mdb_env_create")
    guard let created = unsafe created else {
      throw StoreError(.outOfMemory, operation: "mdb_env_create")
    }
    unsafe handle = created
    unsafe mapLock = .allocate(capacity: 1)
    unsafe mapLock.initialize(to: pthread_rwlock_t())
    unsafe pthread_rwlock_init(mapLock, nil)
    self.directory = directory
    content = options.content
    // From here on `deinit` closes, also when opening fails, as `mdb_env_open` demands.
    do {
      try open(options)
      try requireCompleteFile()
    } catch {
      throw error.at(directory, content: content)
    }
  }

  deinit {
    unsafe mdb_env_close(handle)
    unsafe pthread_rwlock_destroy(mapLock)
    unsafe mapLock.deallocate()
  }

  private func open(_ options: Options) throws(StoreError) {
    try check(unsafe mdb_env_set_maxdbs(handle, Options.maximumDatabases), "mdb_env_set_maxdbs")
    try check(
      unsafe mdb_env_set_maxreaders(handle, Options.maximumReaders), "mdb_env_set_maxreaders")
    if let byteCount = options.mapByteCount {
      try check(unsafe mdb_env_set_mapsize(handle, byteCount), "mdb_env_set_mapsize")
    }
    var flags = MDB_NOTLS
    if options.isReadOnly { flags |= MDB_RDONLY }
    if options.durability == .exceptLastCommit { flags |= MDB_NOMETASYNC }
    try check(unsafe mdb_env_open(handle, directory, CUnsignedInt(flags), 0o600), "mdb_env_open")
  }

  /// Runs `body` on a snapshot.
  func read<Result>(
    _ body: (borrowing Transaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try transact(isReadOnly: true, body)
  }

  /// Runs `body` as the only writer of all processes and commits, or changes nothing and throws.
  func write<Result>(
    _ body: (borrowing Transaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try transact(isReadOnly: false, body)
  }

  /// Frees the slots of readers whose process has died, and with them the pages they pinned.
  ///
  /// - Returns: how many there were.
  func checkReaders() throws(StoreError) -> Int {
    var deadCount: CInt = 0
    try check(unsafe mdb_reader_check(handle, &deadCount), "mdb_reader_check")
    return Int(deadCount)
  }

  /// Address space reserved for the data file, which is also the most that the file can become.
  ///
  /// - Precondition: no other thread changes the map meanwhile; inside a transaction none can.
  var mapByteCount: Int {
    var information = unsafe MDB_envinfo()
    unsafe mdb_env_info(handle, &information)
    return unsafe information.me_mapsize
  }

  /// Doubles the map, after the transactions of this process that are under way.
  ///
  /// - Throws: ``StoreError/Reason/full`` at `limitByteCount`.
  func growMap(limitByteCount: Int) throws(StoreError) {
    try whileMapChanges { () throws(StoreError) in
      let (doubled, overflow) = mapByteCount.multipliedReportingOverflow(by: 2)
      guard !overflow, doubled <= limitByteCount else {
        throw StoreError(
          .mapFull, operation: "mdb_env_set_mapsize", path: directory, content: content)
      }
      try check(unsafe mdb_env_set_mapsize(handle, doubled), "mdb_env_set_mapsize")
    }
  }

  /// Whether the data file that is mapped is no longer the one in the directory, because somebody
  /// removed or replaced it. What is written from then on, nobody else sees.
  var isDetached: Bool {
    guard let descriptor = try? descriptor(), let mapped = FileIdentity(descriptor),
      let named = FileIdentity(directory + "/data.mdb")
    else { return true }
    return mapped != named
  }

  // MARK: - The file

  /// Refuses a file that ends before its last page: to read behind its end through the map is the
  /// death of the process by SIGBUS.
  private func requireCompleteFile() throws(StoreError) {
    guard try missingByteCount() > 0 else { return }
    // A writer may just have committed and not yet completed the file.
    usleep(Self.completionMicroseconds)
    let missing = try missingByteCount()
    guard missing <= 0 else {
      throw StoreError(.corrupted, operation: "opening data.mdb, which lacks \(missing) bytes")
    }
  }

  /// Makes the file as long as its pages demand, after a commit.
  ///
  /// LMDB does not write pages that a transaction takes from the end and gives back before it
  /// commits, so a sound file may be shorter than the number of its pages says (`mdb_env_copy` in
  /// its source allows for that). Completed files can be told from damaged ones.
  ///
  /// That it fails, for want of room, is no failure of the commit; the next one tries again.
  private func completeFile() {
    guard let missing = try? missingByteCount(), missing > 0,
      let end = try? pageByteCountInAll(), let descriptor = try? descriptor()
    else { return }
    // Never shortens the file, whoever writes meanwhile.
    guard posix_fallocate(descriptor, off_t(end - 1), 1) == 0 else { return }
    unsafe mdb_env_sync(handle, 1)
  }

  /// What the file lacks of its pages; not above 0 when it is complete.
  private func missingByteCount() throws(StoreError) -> Int {
    try pageByteCountInAll() - fileByteCount()
  }

  /// The length of the data file.
  func fileByteCount() throws(StoreError) -> Int {
    var file = stat()
    guard unsafe fstat(try descriptor(), &file) == 0 else {
      throw StoreError(StoreError.Code(rawValue: errno), operation: "fstat")
    }
    return Int(file.st_size)
  }

  /// Bytes of all pages up to the last that was ever in use. Only the two pages at the start of the
  /// file, which `mdb_env_open` has read, are looked at.
  private func pageByteCountInAll() throws(StoreError) -> Int {
    var information = unsafe MDB_envinfo()
    var statistics = MDB_stat()
    try check(unsafe mdb_env_info(handle, &information), "mdb_env_info")
    try check(unsafe mdb_env_stat(handle, &statistics), "mdb_env_stat")
    let (byteCount, overflow) = (unsafe information.me_last_pgno)
      .addingReportingOverflow(1).partialValue
      .multipliedReportingOverflow(by: Int(statistics.ms_psize))
    guard !overflow else { throw StoreError(.corrupted, operation: "reading the last page") }
    return byteCount
  }

  private func descriptor() throws(StoreError) -> CInt {
    var descriptor: CInt = -1
    try check(unsafe mdb_env_get_fd(handle, &descriptor), "mdb_env_get_fd")
    return descriptor
  }

  // MARK: - The map

  /// Runs a transaction, and again when it could not begin for a reason that can be removed:
  /// another process has grown the map, or dead readers fill the table of readers. Only
  /// `mdb_txn_begin` fails in these ways, so `body` runs once.
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
      let transaction = try unsafe Transaction(environment: handle, isReadOnly: isReadOnly)
      let result = try body(transaction)
      // A read-only one, too: tables it has opened stay open only after a commit.
      try transaction.commit()
      if !isReadOnly { completeFile() }
      return result
    }
  }

  /// Takes the size that another process has given the map.
  private func followMap() throws(StoreError) {
    try whileMapChanges { () throws(StoreError) in
      try check(unsafe mdb_env_set_mapsize(handle, 0), "mdb_env_set_mapsize")
      try requireCompleteFile()
    }
  }

  private func whileMapStays<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    unsafe pthread_rwlock_rdlock(mapLock)
    defer { unsafe pthread_rwlock_unlock(mapLock) }
    return try body()
  }

  private func whileMapChanges(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    unsafe pthread_rwlock_wrlock(mapLock)
    defer { unsafe pthread_rwlock_unlock(mapLock) }
    try body()
  }
}

/// Creates a directory and the missing ones above it, for this user alone.
private func createDirectory(_ path: String) throws(StoreError) {
  guard unsafe mkdir(path, 0o700) != 0 else { return }
  switch errno {
  case EEXIST:
    return
  case ENOENT:
    guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { break }
    try createDirectory(String(path[..<slash]))
    if unsafe mkdir(path, 0o700) == 0 || errno == EEXIST { return }
  default:
    break
  }
  throw StoreError(StoreError.Code(rawValue: errno), operation: "mkdir", path: path)
}
