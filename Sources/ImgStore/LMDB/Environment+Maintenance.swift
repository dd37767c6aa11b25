import Glibc
import ImgSystem

/// Copies of the journal without free pages: they replace its data file, or one that was removed.
extension Environment {
  private var dataPath: String { "\(directory)/data.mdb" }

  private var copyPath: String { Self.copyPath(in: directory) }

  private static func copyPath(in directory: String) -> String { "\(directory)/data.mdb.copy" }

  /// Removes the incomplete copy of a killed process.
  static func removeCopy(in directory: String) {
    unsafe unlink(copyPath(in: directory))
  }

  /// Replaces the data file by a copy without free pages, and calls `reopen` to open it. This
  /// environment keeps the old file. No thread may write meanwhile.
  ///
  /// The files are exchanged atomically, so that a crash at any time leaves one of them intact in
  /// the directory. If `reopen` fails, the old file is restored.
  ///
  /// - Throws: ``StoreError/Reason/replaced`` if the files were removed or replaced.
  func compactFiles<Result>(
    _ reopen: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    do throws(StoreError) {
      guard isOwnDataNamed else { throw StoreError(.replaced, operation: "compacting data.mdb") }
      try writeCopy()
      // Removes the unused copy or the replaced file.
      defer { Self.removeCopy(in: directory) }
      removeLockFile()
      try exchangeWithCopy()
      do throws(StoreError) {
        return try reopen()
      } catch {
        try? exchangeWithCopy()
        throw error
      }
    } catch {
      throw error.at(directory, content: content)
    }
  }

  /// Makes the directory again if it was removed, for ``restoreFiles(_:)``.
  ///
  /// - Throws: ``StoreError/Reason/replaced`` if it has the data file of another environment.
  func restoreDirectory() throws(StoreError) {
    do throws(StoreError) {
      try StoreError.wrapping { () throws(SystemError) in
        try Directory.create(directory, mode: 0o700)
        try Directory.requireExclusive(directory)
      }
      guard !EnvironmentFiles(in: directory).hasData || isOwnDataNamed else {
        throw StoreError(.replaced, operation: "restoring data.mdb")
      }
    } catch {
      throw error.at(directory, content: content)
    }
  }

  /// Makes the files again that were removed, from the open ones, which the kernel keeps as long as they are
  /// mapped. Then calls `reopen` to open them. No thread may write meanwhile. After an error, there are none.
  func restoreFiles<Result>(
    _ reopen: () throws(StoreError) -> Result
  ) throws(StoreError) -> Result {
    do throws(StoreError) {
      try requireCompleteFile()
      try writeCopy()
      removeLockFile()
      do throws(StoreError) {
        try StoreError.wrapping { () throws(SystemError) in
          try Directory.move(copyPath, to: dataPath)
          try Directory.sync(directory)
        }
        return try reopen()
      } catch {
        unsafe unlink(dataPath)
        throw error
      }
    } catch {
      throw error.at(directory, content: content)
    }
  }

  private func writeCopy() throws(StoreError) {
    Self.removeCopy(in: directory)
    let file = unsafe Glibc.open(copyPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw .last("open") }
    defer { close(file) }
    do throws(StoreError) {
      try copyWithoutFreePages(to: file)
      guard fsync(file) == 0 else { throw .last("fsync") }
    } catch {
      // The disk space is needed.
      Self.removeCopy(in: directory)
      throw error
    }
  }

  private var isOwnDataNamed: Bool {
    guard let descriptor = try? dataFile.descriptor() else { return false }
    return EnvironmentFiles(in: directory).isData(descriptor)
  }

  /// The lock file still belongs to this environment. Opening and closing it again would drop the
  /// locks of this process, see the first rule of ``Environment``.
  private func removeLockFile() {
    unsafe unlink("\(directory)/lock.mdb")
  }

  private func exchangeWithCopy() throws(StoreError) {
    try StoreError.wrapping { () throws(SystemError) in
      try Directory.exchange(copyPath, with: dataPath)
      try Directory.sync(directory)
    }
  }
}

extension StoreError {
  /// The error of this thread's last call of the C library.
  fileprivate static func last(_ operation: String) -> StoreError {
    StoreError(Code(rawValue: errno), operation: operation)
  }
}

/// Checks that the data file contains all its pages, and completes it. Reading behind its end
/// through the map would end the process by SIGBUS.
extension Environment {
  /// How long another process may take between a commit and the completion of the file.
  private static let completionMicroseconds: useconds_t = 50_000

  /// Refuses a file that ends before its last page.
  func requireCompleteFile() throws(StoreError) {
    guard try dataFile.missingByteCount() > 0 else { return }
    // A writer may have committed and not yet completed the file.
    usleep(Self.completionMicroseconds)
    let missing = try dataFile.missingByteCount()
    guard missing <= 0 else { throw DataFile.truncated(by: missing) }
  }

  /// Refuses a file that was truncated after it was opened. For readers.
  func refuseTruncatedFile() throws(StoreError) {
    do throws(StoreError) {
      try whileMapStays { () throws(StoreError) in try requireCompleteFile() }
    } catch {
      throw error.at(directory, content: content)
    }
  }

  /// Extends a file that ends before its last page, if it lacks only free pages: the writer that
  /// would complete it has not done so yet, or was killed. For writers. Waits for the current
  /// writer.
  ///
  /// - Throws: ``StoreError/Reason/damaged`` if used pages are missing.
  func completeOrRefuseFile() throws(StoreError) {
    try whileMapStays { () throws(StoreError) in
      guard try dataFile.missingByteCount() > 0 else { return }
      // During this transaction no other process commits or extends the file.
      let writer = try begin(isReadOnly: false)
      let (byteCount, missing) = (try dataFile.byteCount(), try dataFile.missingByteCount())
      guard missing > 0 else { return writer.abort() }
      // The length of a damaged file never changes, not even for a moment: another process would
      // take the file for a complete one and read behind its end.
      let size = dataFile.pageByteCount
      let missingPages = byteCount / size..<(byteCount + missing) / size
      let free = try FreeList(of: dataFile).pages(from: missingPages.lowerBound)
      guard free?.count == missingPages.count else { throw DataFile.truncated(by: missing) }
      try dataFile.setByteCount(byteCount + missing)
      try sync()
      writer.abort()
    }
  }
}

extension Environment {
  /// Copies every table into a new environment in `directory`, without free pages, while other
  /// writers continue. Then, as the only writer, updates the copy and runs `replace`, when the copy
  /// is complete, on the disk and closed.
  ///
  /// Writers wait only while this walks all keys and syncs the changes, not while it copies all
  /// values. The walk took 4 to 8 ms for 65,000 records of 6 KB, for which `mdb_env_copy2` with
  /// `MDB_CP_COMPACT` took 1.2 to 1.8 s.
  ///
  /// - Parameter directory: a new directory, which is created.
  /// - Throws: ``StoreError/Reason/replaced`` if the files were removed or replaced;
  ///   `MDB_MAP_RESIZED` if another process has grown the map meanwhile, which the next transaction
  ///   follows.
  func replaceByCopy(
    in directory: String, _ replace: () throws(StoreError) -> Void
  ) throws(StoreError) {
    do throws(StoreError) {
      let tables = try namedTables()
      try whileMapStays { () throws(StoreError) in
        // Copies the commits of that time before other writers have to wait.
        let first = try begin(isReadOnly: true)
        try copy(tables, of: first, to: directory)
        let second = try begin(isReadOnly: true)
        try bringUpToDate(directory, tables, from: first, to: second)
        first.abort()
        let last = try begin(isReadOnly: false)
        guard !isDetached else { throw StoreError(.replaced, operation: "copying") }
        try bringUpToDate(directory, tables, from: second, to: last)
        second.abort()
        try replace()
        last.abort()
      }
    } catch {
      throw error.path.isEmpty ? error.at(self.directory, content: content) : error
    }
  }

  /// Runs `body` on the newest snapshot while no process writes. Needs no disk space.
  ///
  /// - Throws: ``StoreError/Reason/replaced`` if the files were removed or replaced.
  func whileOnlyWriter(
    _ body: (borrowing Transaction) throws(StoreError) -> Void
  ) throws(StoreError) {
    do throws(StoreError) {
      try whileMapStays { () throws(StoreError) in
        let writer = try begin(isReadOnly: false)
        guard !isDetached else { throw StoreError(.replaced, operation: "replacing") }
        try body(writer)
        writer.abort()
      }
    } catch {
      throw error.path.isEmpty ? error.at(directory, content: content) : error
    }
  }

  /// A table with its name.
  private struct NamedTable {
    let name: String
    let database: Database
  }

  /// All named tables, opened for later transactions.
  private func namedTables() throws(StoreError) -> [NamedTable] {
    try read { transaction throws(StoreError) in
      var names: [String] = []
      try transaction.scan(.directory) { name, _ in
        names.append(String(decoding: name.copy(), as: UTF8.self))
        return true
      }
      var tables: [NamedTable] = []
      for name in names {
        let database = try transaction.openDatabase(name, isCreated: false)
        tables.append(NamedTable(name: name, database: database))
      }
      return tables
    }
  }

  /// The environment of a copy. Each step opens and closes it. Closing destroys the locks in the
  /// lock file if no other process has it open, so it must happen before other processes can open
  /// it.
  private func openCopy(in directory: String) throws(StoreError) -> Environment {
    var options = Options(content: content)
    options.durability = .none
    options.mapByteCount = try mapByteCount
    return try Environment(directory: directory, options: options)
  }

  private func copy(
    _ tables: [NamedTable], of snapshot: borrowing Transaction, to directory: String
  ) throws(StoreError) {
    let copy = try openCopy(in: directory)
    for table in tables {
      var next: [UInt8]? = []
      while let start = next {
        next = try copy.write { transaction throws(StoreError) in
          let database = try transaction.openDatabase(table.name, isCreated: true)
          return try Self.append(
            table.database, of: snapshot, from: start, to: database, transaction)
        }
      }
    }
    try copy.sync()
  }

  /// The size of one transaction of a copy. A writer keeps its pages in memory until the commit.
  private static let copiedByteCount = 16 << 20

  /// Appends the entries of a table from `start` on to another one.
  ///
  /// - Returns: the start of the next part; `nil` at the end.
  private static func append(
    _ source: Database, of snapshot: borrowing Transaction, from start: [UInt8],
    to database: Database, _ transaction: borrowing Transaction
  ) throws(StoreError) -> [UInt8]? {
    var byteCount = 0
    var next: [UInt8]?
    try snapshot.scan(source, from: start) { key, value throws(StoreError) in
      guard byteCount < copiedByteCount else {
        next = key.copy()
        return false
      }
      guard try transaction.append(value, for: key, in: database) else {
        throw StoreError(.corrupted, operation: "copying keys that are out of order")
      }
      byteCount += key.count + value.count
      return true
    }
    return next
  }

  /// Updates a copy from an older to a newer snapshot.
  private func bringUpToDate(
    _ directory: String, _ tables: [NamedTable], from older: borrowing Transaction,
    to newer: borrowing Transaction
  ) throws(StoreError) {
    let copy = try openCopy(in: directory)
    try copy.write { transaction throws(StoreError) in
      for table in tables {
        let database = try transaction.openDatabase(table.name, isCreated: true)
        try newer.compare(
          table.database, with: older,
          changed: { key, value throws(StoreError) in
            try transaction.put(value, for: key, in: database)
          },
          removed: { key throws(StoreError) in
            try transaction.delete(key, from: database)
          })
      }
    }
    try copy.sync()
  }
}

extension Environment {
  /// Reserves disk space behind the last page, so that other files cannot take it. The length of
  /// the file does not change. Later writes use the space.
  ///
  /// Costs a system call if less than half of it is left.
  ///
  /// - Parameter nextByteCount: the size of the next write, in addition.
  /// - Precondition: this thread is the only one that writes.
  /// - Throws: ``StoreError/Reason/full`` if the disk and the free pages have less than half of the
  ///   space in addition to the next write. A file system that cannot reserve space is no error.
  func reserveRoom(byteCount: Int, beside nextByteCount: Int) throws(StoreError) {
    let used = try whileMapStays { () throws(StoreError) in try dataFile.pagesByteCount() }
    let minimum = byteCount / 2 + nextByteCount
    guard dataFile.reservedByteCount(behind: used) < minimum else { return }
    do throws(StoreError) {
      try dataFile.reserve(used..<used + byteCount + nextByteCount)
    } catch {
      guard error.code == .noSpace || error.code == .quotaExceeded else { return }
      guard try dataFile.reservedByteCount(behind: used) + freeByteCount >= minimum else {
        throw error.at(directory, content: content)
      }
    }
  }

  /// The bytes of the free pages.
  var freeByteCount: Int {
    get throws(StoreError) {
      try read { transaction throws(StoreError) in
        try transaction.freePageCount() * dataFile.pageByteCount
      }
    }
  }
}

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

  var hasData: Bool { data != nil }
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
