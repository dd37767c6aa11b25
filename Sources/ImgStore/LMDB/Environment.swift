import CLMDB
import Glibc
import ImgSystem

/// An open LMDB environment: a directory with `data.mdb` and `lock.mdb`, mapped into this process.
///
/// Rules of LMDB that its users keep:
/// - A process opens an environment at most once at a time: closing any descriptor of the lock file
///   drops all `fcntl` locks the process has on it (`lmdb.h`, Caveats).
/// - A process that was forked does not touch its parent's environment. Descriptors close on exec.
/// - A reader is short: the pages that were freed since it began stay occupied while it lives.
///
/// LMDB checks little of what it reads, so damaged pages may end the process. All that reads them is
/// a `CrashRegion`, so that such an end can be told from others.
///
/// Any thread may read or write at any time. Readers do not wait for anybody; writers wait for each
/// other, over all processes.
///
/// Sendable is unchecked because of the two pointers, `usedByteCount` and `reservedEnd`. The pointers are constant
/// for the life of the object; LMDB allows an `MDB_env` to be shared by threads (with `MDB_NOTLS` its
/// read-only transactions, too, are bound to no thread), except while the map changes its size, and
/// `mapLock` and the places of `snapshots` keep every transaction of this process out of that.
/// `usedByteCount` is touched inside write transactions alone, of which there is one at a time;
/// `reservedEnd` by the one thread that writes, where rooms are reserved.
@safe
final class Environment: @unchecked Sendable {
  /// What a commit waits for.
  enum Durability {
    /// The disk: nothing that was committed is ever lost.
    case everyCommit
    /// The data but not the page that makes them current (`MDB_NOMETASYNC`): a power cut may undo
    /// the last commit, and leaves the environment consistent.
    case exceptLastCommit
    /// Nothing before ``sync()`` (`MDB_NOSYNC`): for what nobody else sees until then.
    case none
  }

  struct Options {
    let content: StoreError.Content
    var isReadOnly = false
    var durability = Durability.everyCommit
    /// The size of the map; `nil` takes the size that the last writer chose.
    var mapByteCount: Int?
    /// Readers at once, of all processes. A slot takes 64 bytes of the lock file.
    static let maximumReaders: CUnsignedInt = 512
    /// As long as LMDB makes the lock file: the slots, and a header of two more.
    static let lockFileByteCount = 64 * (Int(maximumReaders) + 2)
    /// Named tables; no environment here has more.
    static let maximumDatabases: MDB_dbi = 8

    init(content: StoreError.Content) {
      self.content = content
    }
  }

  let handle: OpaquePointer
  /// What is open, whatever the directory has by now.
  private let files: EnvironmentFiles
  let pageByteCount: Int
  private let durability: Durability
  /// Bytes of all pages when the last write of this object began. Only the writer looks at it.
  var usedByteCount = 0
  /// Where the room ends that ``reserveRoom(byteCount:beside:)`` has reserved. Only the writer looks at it.
  var reservedEnd = 0
  /// Shared by transactions, held alone by whoever changes the size of the map.
  private let mapLock: UnsafeMutablePointer<pthread_rwlock_t>
  private let snapshots: SnapshotPool
  let directory: String
  let content: StoreError.Content

  /// Opens the environment in `directory`; a writer creates what does not exist, readable by this
  /// user alone.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` when the file is cut off or is no environment.
  init(directory: String, options: Options) throws(StoreError) {
    self.directory = directory
    content = options.content
    durability = options.durability
    CrashRegion.enter()
    defer { CrashRegion.leave() }
    do throws(StoreError) {
      let opened = try EnvironmentOpening(directory: directory, options: options).run()
      files = opened.files
      pageByteCount = opened.pageByteCount
      unsafe handle = opened.release()
    } catch {
      throw error.at(directory, content: options.content)
    }
    unsafe mapLock = .allocate(capacity: 1)
    unsafe mapLock.initialize(to: pthread_rwlock_t())
    unsafe pthread_rwlock_init(mapLock, nil)
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
    unsafe pthread_rwlock_destroy(mapLock)
    unsafe mapLock.deallocate()
  }

  /// Runs `body` on a snapshot.
  func read<Result>(
    _ body: (borrowing Transaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    try transact(isReadOnly: true, body)
  }

  /// Runs `body` on a snapshot, as ``read(_:)`` does, on a transaction that is kept for it: for
  /// reads that are short and many. `body` opens no table.
  func glance<Result>(
    _ body: (borrowing Transaction) throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    CrashRegion.enter()
    defer { CrashRegion.leave() }
    do throws(StoreError) {
      if let result = try snapshots.withSnapshot(body) { return result }
    } catch {
      throw error.at(directory, content: content)
    }
    // Whatever is in the way of a snapshot, this says so or removes it.
    return try read(body)
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
    do throws(StoreError) {
      try check(unsafe mdb_reader_check(handle, &deadCount), "mdb_reader_check")
    } catch {
      throw error.at(directory, content: content)
    }
    return Int(deadCount)
  }

  /// Address space reserved for the data file, which is also the most that the file can become.
  ///
  /// - Precondition: no other thread changes the map meanwhile; inside a transaction none can.
  var mapByteCount: Int {
    get throws(StoreError) {
      var information = unsafe MDB_envinfo()
      try check(unsafe mdb_env_info(handle, &information), "mdb_env_info")
      return unsafe information.me_mapsize
    }
  }

  /// Doubles the map, after the transactions of this process that are under way.
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

  /// What has become of the files since they were opened.
  enum State {
    case sound
    /// Somebody removed or replaced them, or their directory. What is written from then on, nobody
    /// else sees.
    case detached
    /// The data file ends before its last page, or a commit is just being completed, see
    /// ``completeOrRefuseFile()``.
    case cutOff
  }

  /// Costs two system calls. Whoever looks before each group of reads notices a file that was cut
  /// off before it is the death of the process, unless it happens between the look and the reads.
  var state: State {
    let named = EnvironmentFiles(in: directory)
    guard named.areSame(as: files) else { return .detached }
    // The two pages that say how many there are must themselves be there to be read.
    guard named.dataByteCount >= 2 * pageByteCount,
      let needed = try? whileMapStays({ () throws(StoreError) in try pageByteCountInAll() }),
      needed <= named.dataByteCount
    else { return .cutOff }
    return .sound
  }

  /// Whether the files that are open are no longer those in the directory.
  var isDetached: Bool { !EnvironmentFiles(in: directory).areSame(as: files) }

  /// Whether the directory has the lock file that is open, also where the data file has gone.
  var isLockFileNamed: Bool {
    files.hasLock && EnvironmentFiles(in: directory).isLockSame(as: files)
  }

  /// Waits until everything committed is on the disk, for ``Durability/none``.
  func sync() throws(StoreError) {
    do throws(StoreError) {
      try check(unsafe mdb_env_sync(handle, 1), "mdb_env_sync")
    } catch {
      throw error.at(directory, content: content)
    }
  }

  /// Writes what is committed, without free pages, into an open, empty file. No transaction of this
  /// thread may be writing.
  func copyWithoutFreePages(to descriptor: CInt) throws(StoreError) {
    try whileMapStays { () throws(StoreError) in
      let flags = CUnsignedInt(MDB_CP_COMPACT)
      try check(unsafe mdb_env_copyfd2(handle, descriptor, flags), "mdb_env_copyfd2")
    }
  }

  /// Bytes of all pages up to the last that was ever in use, and of those among them that are free.
  func pageUse() throws(StoreError) -> (all: Int, free: Int) {
    try read { transaction throws(StoreError) in
      (try pageByteCountInAll(), try transaction.freePageCount() * pageByteCount)
    }
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
      if !isReadOnly, durability != .none { takeRoomAhead() }
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

  func whileMapStays<Result>(
    _ body: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    CrashRegion.enter()
    defer { CrashRegion.leave() }
    unsafe pthread_rwlock_rdlock(mapLock)
    defer { unsafe pthread_rwlock_unlock(mapLock) }
    return try body()
  }

  private func whileMapChanges(_ body: () throws(StoreError) -> Void) throws(StoreError) {
    CrashRegion.enter()
    defer { CrashRegion.leave() }
    // In this order: who has a snapshot of the pool may yet begin a transaction beside it.
    try snapshots.whileIdle { () throws(StoreError) in
      unsafe pthread_rwlock_wrlock(mapLock)
      defer { unsafe pthread_rwlock_unlock(mapLock) }
      try body()
    }
  }
}
