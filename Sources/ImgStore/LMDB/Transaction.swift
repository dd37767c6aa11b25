import CLMDB
import Glibc

/// An LMDB transaction. It aborts in `deinit`, unless it was committed.
///
/// A read-only transaction sees the snapshot of its start. Bytes in the map are only passed to
/// closures, so that they do not outlive the transaction.
@safe
struct Transaction: ~Copyable {
  private let handle: OpaquePointer

  init(environment: OpaquePointer, isReadOnly: Bool) throws(StoreError) {
    var created: OpaquePointer?
    let flags = isReadOnly ? CUnsignedInt(MDB_RDONLY) : 0
    try check(unsafe mdb_txn_begin(environment, nil, flags, &created), "mdb_txn_begin")
    guard let created = unsafe created else {
      throw StoreError(.outOfMemory, operation: "mdb_txn_begin")
    }
    unsafe handle = created
  }

  /// Renews a read-only transaction after ``reset()``, on the newest snapshot. If it throws, the
  /// caller still owns the handle.
  init(renewing handle: OpaquePointer) throws(StoreError) {
    try check(unsafe mdb_txn_renew(handle), "mdb_txn_renew")
    unsafe self.handle = handle
  }

  deinit {
    unsafe mdb_txn_abort(handle)
  }

  /// Releases the snapshot of a read-only transaction, but not its handle.
  ///
  /// - Returns: the handle, which the caller renews or aborts.
  consuming func reset() -> OpaquePointer {
    let handle = unsafe handle
    discard self
    unsafe mdb_txn_reset(handle)
    return unsafe handle
  }

  /// Commits the transaction. After an error, nothing has changed.
  consuming func commit() throws(StoreError) {
    // LMDB frees the handle in any case, so `deinit` must not run.
    let handle = unsafe handle
    discard self
    try check(unsafe mdb_txn_commit(handle), "mdb_txn_commit")
  }

  /// Aborts the transaction without changes.
  consuming func abort() {}

  /// Opens a table by name. Other transactions can use it after this one has committed.
  func openDatabase(_ name: String, isCreated: Bool) throws(StoreError) -> Database {
    var opened: MDB_dbi = 0
    let flags = isCreated ? CUnsignedInt(MDB_CREATE) : 0
    try check(unsafe mdb_dbi_open(handle, name, flags, &opened), "mdb_dbi_open")
    return Database(handle: opened)
  }

  /// Calls `body` with the value of `key`; `nil` if there is none.
  func withValue<Result>(
    of key: [UInt8], in database: Database,
    _ body: (Span<UInt8>) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    try withValue(of: key.span, in: database, body)
  }

  /// Calls `body` with the value of a key in any memory; `nil` if there is none.
  func withValue<Result>(
    of key: Span<UInt8>, in database: Database,
    _ body: (Span<UInt8>) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    var value = unsafe MDB_val()
    let code = unsafe withMemory(of: key) { unsafe mdb_get(handle, database.handle, &$0, &value) }
    guard code != MDB_NOTFOUND else { return nil }
    try check(code, "mdb_get")
    return try body(unsafe value.bytes.span)
  }

  /// Stores a value, and replaces an existing one.
  func put(_ value: [UInt8], for key: [UInt8], in database: Database) throws(StoreError) {
    try put(value.span, for: key.span, in: database)
  }

  /// Stores a value, and replaces an existing one.
  func put(
    _ value: Span<UInt8>, for key: Span<UInt8>, in database: Database
  ) throws(StoreError) {
    try check(code(ofPutting: value, for: key, in: database, flags: 0), "mdb_put")
  }

  /// Appends a value at the end of the table, which fills pages completely.
  ///
  /// - Returns: `false` if the table has that key or a later one.
  func append(
    _ value: Span<UInt8>, for key: Span<UInt8>, in database: Database
  ) throws(StoreError) -> Bool {
    let code = code(ofPutting: value, for: key, in: database, flags: CUnsignedInt(MDB_APPEND))
    guard code != MDB_KEYEXIST else { return false }
    try check(code, "mdb_put")
    return true
  }

  /// Stores a value for a new key.
  ///
  /// - Returns: `false` if the key has a value, which stays.
  func insert(
    _ value: [UInt8], for key: [UInt8], in database: Database
  ) throws(StoreError) -> Bool {
    let code = code(
      ofPutting: value.span, for: key.span, in: database, flags: CUnsignedInt(MDB_NOOVERWRITE))
    guard code != MDB_KEYEXIST else { return false }
    try check(code, "mdb_put")
    return true
  }

  /// Stores a value for a new key. `write` writes it directly into the page (`MDB_RESERVE`), which
  /// saves a copy.
  ///
  /// - Parameter write: must write every byte, because the memory is not cleared.
  /// - Returns: `false` if the key has a value, which stays. `write` did not run then.
  func insert(
    byteCount: Int, for key: Span<UInt8>, in database: Database,
    _ write: (inout MutableSpan<UInt8>) -> Void
  ) throws(StoreError) -> Bool {
    var value = unsafe MDB_val(mv_size: byteCount, mv_data: nil)
    let flags = CUnsignedInt(MDB_NOOVERWRITE | MDB_RESERVE)
    let code = unsafe withMemory(of: key) {
      unsafe mdb_put(handle, database.handle, &$0, &value, flags)
    }
    guard code != MDB_KEYEXIST else { return false }
    try check(code, "mdb_put")
    let room = unsafe UnsafeMutableBufferPointer(mutating: value.bytes)
    var bytes = unsafe room.mutableSpan
    write(&bytes)
    return true
  }

  /// - Returns: whether the key existed.
  @discardableResult
  func delete(_ key: [UInt8], from database: Database) throws(StoreError) -> Bool {
    try delete(key.span, from: database)
  }

  /// - Returns: whether the key existed.
  @discardableResult
  func delete(_ key: Span<UInt8>, from database: Database) throws(StoreError) -> Bool {
    let code = unsafe withMemory(of: key) { unsafe mdb_del(handle, database.handle, &$0, nil) }
    guard code != MDB_NOTFOUND else { return false }
    try check(code, "mdb_del")
    return true
  }

  /// Removes every entry of a table.
  func clear(_ database: Database) throws(StoreError) {
    try check(unsafe mdb_drop(handle, database.handle, 0), "mdb_drop")
  }

  /// Calls `body` with the entries from `start` on, in ascending order, until it returns `false`.
  ///
  /// - Precondition: `body` does not change the table, because LMDB's pointers into the map are
  ///   valid only until the next update.
  func scan(
    _ database: Database, from start: [UInt8] = [],
    _ body: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let cursor = unsafe try openCursor(of: database)
    defer { unsafe mdb_cursor_close(cursor) }
    var value = unsafe MDB_val()
    var key = unsafe MDB_val()
    // The cursor replaces the given key by the found one, which is in the map.
    var code = unsafe withMemory(of: start.span) { sought in
      unsafe key = sought
      let move = start.isEmpty ? MDB_FIRST : MDB_SET_RANGE
      return unsafe mdb_cursor_get(cursor, &key, &value, move)
    }
    while code != MDB_NOTFOUND {
      try check(code, "mdb_cursor_get")
      guard try body(unsafe key.bytes.span, unsafe value.bytes.span) else { return }
      code = unsafe mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
    }
  }

  /// Calls `body` with the entries below `end`, or all, in descending order, until it returns
  /// `false`.
  ///
  /// - Precondition: as for ``scan(_:from:_:)``.
  func scanBackwards(
    _ database: Database, before end: [UInt8]?,
    _ body: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let cursor = unsafe try openCursor(of: database)
    defer { unsafe mdb_cursor_close(cursor) }
    var value = unsafe MDB_val()
    var key = unsafe MDB_val()
    var move = MDB_LAST
    if let end {
      // Move to the first entry not below `end`. If there is none, the last entry is below it.
      let code = unsafe withMemory(of: end.span) { sought in
        unsafe key = sought
        return unsafe mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
      }
      if code != MDB_NOTFOUND {
        try check(code, "mdb_cursor_get")
        move = MDB_PREV
      }
    }
    while true {
      let code = unsafe mdb_cursor_get(cursor, &key, &value, move)
      guard code != MDB_NOTFOUND else { return }
      try check(code, "mdb_cursor_get")
      guard try body(unsafe key.bytes.span, unsafe value.bytes.span) else { return }
      move = MDB_PREV
    }
  }

  /// A cursor that the caller closes.
  func openCursor(of database: Database) throws(StoreError) -> OpaquePointer? {
    var cursor: OpaquePointer?
    try check(unsafe mdb_cursor_open(handle, database.handle, &cursor), "mdb_cursor_open")
    return unsafe cursor
  }

  func statistics(of database: Database) throws(StoreError) -> DatabaseStatistics {
    var statistics = MDB_stat()
    let code = unsafe mdb_stat(handle, database.handle, &statistics)
    // On damage, mdb_stat only reports an unusable transaction (LMDB's source). An earlier error
    // would have ended the transaction.
    try check(code == MDB_BAD_TXN ? MDB_CORRUPTED : code, "mdb_stat")
    return DatabaseStatistics(
      entryCount: statistics.ms_entries,
      pageCount: statistics.ms_branch_pages + statistics.ms_leaf_pages
        + statistics.ms_overflow_pages,
      pageByteCount: Int(statistics.ms_psize))
  }

  private func code(
    ofPutting value: Span<UInt8>, for key: Span<UInt8>, in database: Database,
    flags: CUnsignedInt
  ) -> CInt {
    unsafe withMemory(of: key) { key in
      unsafe withMemory(of: value) { value in
        unsafe mdb_put(handle, database.handle, &key, &value, flags)
      }
    }
  }
}

extension Transaction {
  /// Compares a table with an older snapshot of the same environment: calls `changed` for each new
  /// or changed entry and `removed` for each removed key. Walks both tables in parallel.
  ///
  /// Values at the same place of the map are equal and are not read, because LMDB never writes into
  /// a page of an open snapshot. So unchanged large values, which have pages of their own, cost
  /// nothing.
  func compare(
    _ database: Database, with older: borrowing Transaction,
    changed: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws(StoreError) -> Void,
    removed: (_ key: Span<UInt8>) throws(StoreError) -> Void
  ) throws(StoreError) {
    var before = unsafe TableWalk(try older.openCursor(of: database))
    var after = unsafe TableWalk(try openCursor(of: database))
    try before.advance()
    try after.advance()
    while !(before.isAtEnd && after.isAtEnd) {
      let order = before.order(relativeTo: after)
      if order < 0 {
        try removed(unsafe before.key.bytes.span)
      } else if order > 0 || !before.hasSameValue(as: after) {
        try changed(unsafe after.key.bytes.span, unsafe after.value.bytes.span)
      }
      if order <= 0 { try before.advance() }
      if order >= 0 { try after.advance() }
    }
  }
}

/// A cursor in a table with its current entry.
@safe
private struct TableWalk: ~Copyable {
  private let cursor: OpaquePointer?
  private var move = MDB_FIRST
  private(set) var key = unsafe MDB_val()
  private(set) var value = unsafe MDB_val()
  private(set) var isAtEnd = false

  /// Takes ownership of a new cursor. Its transaction must outlive it.
  init(_ cursor: OpaquePointer?) {
    unsafe self.cursor = cursor
  }

  deinit {
    unsafe mdb_cursor_close(cursor)
  }

  /// Moves to the first entry, then to the next one.
  ///
  /// - Precondition: it is not at the end.
  mutating func advance() throws(StoreError) {
    let code = unsafe mdb_cursor_get(cursor, &key, &value, move)
    move = MDB_NEXT
    isAtEnd = code == MDB_NOTFOUND
    if !isAtEnd { try check(code, "mdb_cursor_get") }
  }

  /// Below 0 if this entry precedes the other one. The end follows all entries.
  func order(relativeTo other: borrowing TableWalk) -> CInt {
    guard !isAtEnd else { return 1 }
    guard !other.isAtEnd else { return -1 }
    var (ours, theirs) = unsafe (key, other.key)
    return unsafe mdb_cmp(mdb_cursor_txn(cursor), mdb_cursor_dbi(cursor), &ours, &theirs)
  }

  func hasSameValue(as other: borrowing TableWalk) -> Bool {
    guard unsafe value.mv_size == other.value.mv_size else { return false }
    return unsafe value.mv_data == other.value.mv_data
      || memcmp(value.mv_data, other.value.mv_data, value.mv_size) == 0
  }
}

extension Transaction {
  /// The number of free pages (`mdb_stat.c` counts them in the same way): each entry of their table
  /// begins with a count.
  ///
  /// - Precondition: the transaction is read-only. LMDB opens no cursor on the free pages in
  ///   others.
  func freePageCount() throws(StoreError) -> Int {
    var count = 0
    try scan(.freePages) { _, list throws(StoreError) in
      guard list.count >= MemoryLayout<UInt>.size else {
        throw StoreError(.corrupted, operation: "reading the free pages")
      }
      count += Int(clamping: list.littleEndian(at: 0, as: UInt.self))
      return true
    }
    return count
  }
}

/// A named table of an environment. It is opened once and valid until the environment closes.
struct Database: Sendable {
  let handle: MDB_dbi

  /// The environment's own unnamed tables: the free pages and the directory of named tables
  /// (`FREE_DBI` and `MAIN_DBI` of LMDB, which `mdb_stat` also uses).
  static let freePages = Database(handle: 0)
  static let directory = Database(handle: 1)
}

/// The pages and entries of one table.
struct DatabaseStatistics {
  let entryCount: Int
  /// Branch, leaf and overflow pages.
  let pageCount: Int
  let pageByteCount: Int
}

/// Throws an error for a return code of LMDB other than success.
func check(_ code: CInt, _ operation: String) throws(StoreError) {
  guard code == MDB_SUCCESS else {
    throw StoreError(StoreError.Code(rawValue: code), operation: operation)
  }
}

/// Passes bytes to LMDB for the duration of `body`. LMDB only reads them. Its pointers are not
/// `const` because it uses one type for both directions.
func withMemory(of bytes: Span<UInt8>, _ body: (inout MDB_val) -> CInt) -> CInt {
  unsafe bytes.withUnsafeBytes { memory in
    var value = unsafe MDB_val(
      mv_size: memory.count, mv_data: UnsafeMutableRawPointer(mutating: memory.baseAddress))
    return unsafe body(&value)
  }
}

extension MDB_val {
  /// The bytes, valid as long as their transaction.
  var bytes: UnsafeBufferPointer<UInt8> {
    unsafe UnsafeRawBufferPointer(start: mv_data, count: mv_size).bindMemory(to: UInt8.self)
  }
}

/// The version of the layout of tables and records, in the table `meta` of an environment.
struct SchemaVersion {
  let number: UInt32

  private static let key = Array("schema".utf8)

  /// Checks the version of an environment and writes this one.
  ///
  /// - Returns: the previous version; `nil` for a new environment. If it is below ``number``, the
  ///   caller drops the records in the same transaction, or throws to change nothing.
  /// - Throws: ``StoreError/Reason/newerVersion`` if a newer release has written the records, which
  ///   this one would misread.
  @discardableResult
  func establish(
    in meta: Database, _ transaction: borrowing Transaction
  ) throws(StoreError) -> UInt32? {
    let found = try verify(in: meta, transaction)
    if found != number {
      var value: [UInt8] = []
      value.append(littleEndian: number)
      try transaction.put(value, for: Self.key, in: meta)
    }
    return found
  }

  /// Checks the version without writing.
  ///
  /// - Returns: the version.
  @discardableResult
  func verify(
    in meta: Database, _ transaction: borrowing Transaction
  ) throws(StoreError) -> UInt32? {
    let found = try transaction.withValue(of: Self.key, in: meta) { value throws(StoreError) in
      guard value.count == MemoryLayout<UInt32>.size else {
        throw StoreError(.corrupted, operation: "reading the schema version")
      }
      return value.littleEndian(at: 0, as: UInt32.self)
    }
    if let found, found > number {
      throw StoreError(.versionMismatch, operation: "reading schema \(found), newer than \(number)")
    }
    return found
  }
}
