import CLMDB

/// A named table of an environment, opened once and valid until the environment closes.
struct Database: Sendable {
  fileprivate let handle: MDB_dbi

  /// The environment's own tables, which have no names: the pages free for reuse, and the
  /// directory of named tables (`FREE_DBI` and `MAIN_DBI` of LMDB, also used by `mdb_stat`).
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

/// One LMDB transaction. It aborts when it goes out of scope, unless it was committed.
///
/// A read-only one sees the snapshot of its beginning. What it lends from the map is lent to a
/// closure only, so that nothing outlives it.
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

  /// Goes on with a read-only transaction that was ``reset()``, on the newest snapshot. When it
  /// throws, the handle stays the caller's.
  init(renewing handle: OpaquePointer) throws(StoreError) {
    try check(unsafe mdb_txn_renew(handle), "mdb_txn_renew")
    unsafe self.handle = handle
  }

  deinit {
    unsafe mdb_txn_abort(handle)
  }

  /// Lets go of the snapshot of a read-only transaction, and keeps what can be used again.
  ///
  /// - Returns: the handle, which is the caller's to renew or to abort.
  consuming func reset() -> OpaquePointer {
    let handle = unsafe handle
    discard self
    unsafe mdb_txn_reset(handle)
    return unsafe handle
  }

  /// Ends the transaction; after an error nothing of it has happened.
  consuming func commit() throws(StoreError) {
    // LMDB frees the handle whatever it returns, so there is nothing left for `deinit`.
    let handle = unsafe handle
    discard self
    try check(unsafe mdb_txn_commit(handle), "mdb_txn_commit")
  }

  /// Ends the transaction; nothing of it has happened.
  consuming func abort() {}

  /// Opens a table by name; the handle is valid for others once this transaction has committed.
  func openDatabase(_ name: String, isCreated: Bool) throws(StoreError) -> Database {
    var opened: MDB_dbi = 0
    let flags = isCreated ? CUnsignedInt(MDB_CREATE) : 0
    try check(unsafe mdb_dbi_open(handle, name, flags, &opened), "mdb_dbi_open")
    return Database(handle: opened)
  }

  /// Lends the value of `key` to `body`; `nil` when there is none.
  func withValue<Result>(
    of key: [UInt8], in database: Database,
    _ body: (Span<UInt8>) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    try withValue(of: key.span, in: database, body)
  }

  /// The same for a key that lies anywhere.
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

  /// Stores a value under a key, in place of any there was.
  func put(_ value: [UInt8], for key: [UInt8], in database: Database) throws(StoreError) {
    try put(value.span, for: key.span, in: database)
  }

  /// Stores a value under a key, in place of any there was.
  func put(
    _ value: Span<UInt8>, for key: Span<UInt8>, in database: Database
  ) throws(StoreError) {
    try check(code(ofPutting: value, for: key, in: database, flags: 0), "mdb_put")
  }

  /// Stores a value under a key behind all others of the table; pages are filled to the brim.
  ///
  /// - Returns: whether it did; `false` where the table has that key or one behind it.
  func append(
    _ value: Span<UInt8>, for key: Span<UInt8>, in database: Database
  ) throws(StoreError) -> Bool {
    let code = code(ofPutting: value, for: key, in: database, flags: CUnsignedInt(MDB_APPEND))
    guard code != MDB_KEYEXIST else { return false }
    try check(code, "mdb_put")
    return true
  }

  /// Stores a value under a key that has none.
  ///
  /// - Returns: whether it did; `false` leaves the value there was.
  func insert(
    _ value: [UInt8], for key: [UInt8], in database: Database
  ) throws(StoreError) -> Bool {
    let code = code(
      ofPutting: value.span, for: key.span, in: database, flags: CUnsignedInt(MDB_NOOVERWRITE))
    guard code != MDB_KEYEXIST else { return false }
    try check(code, "mdb_put")
    return true
  }

  /// Stores a value under a key that has none: `write` writes it where it lies from then on
  /// (`MDB_RESERVE`), so that it is not made elsewhere first.
  ///
  /// - Parameter write: writes every byte; those that it left out would be what the memory held
  ///   before.
  /// - Returns: whether it did; `false` leaves the value there was, and `write` did not run.
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

  /// - Returns: whether there was such a key.
  @discardableResult
  func delete(_ key: [UInt8], from database: Database) throws(StoreError) -> Bool {
    try delete(key.span, from: database)
  }

  /// - Returns: whether there was such a key.
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

  /// Lends the entries from the first key not below `start` on, in ascending order, until `body`
  /// says `false`.
  ///
  /// - Precondition: `body` changes nothing in the table: LMDB's pointers into the map are valid
  ///   only until the next update.
  func scan(
    _ database: Database, from start: [UInt8] = [],
    _ body: (_ key: Span<UInt8>, _ value: Span<UInt8>) throws(StoreError) -> Bool
  ) throws(StoreError) {
    let cursor = unsafe try openCursor(of: database)
    defer { unsafe mdb_cursor_close(cursor) }
    var value = unsafe MDB_val()
    var key = unsafe MDB_val()
    // The cursor replaces the key it was given by the one it found, which lies in the map.
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

  /// Lends the entries below `end`, or all, in descending order, until `body` says `false`.
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
      // Onto the first entry not below `end`; when there is none, the last one is below it.
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
    // Where it meets damage it says only that the transaction is of no use any more (`mdb_stat` in
    // LMDB's source); an error before would have ended the transaction.
    try check(code == MDB_BAD_TXN ? MDB_CORRUPTED : code, "mdb_stat")
    return DatabaseStatistics(
      entryCount: statistics.ms_entries,
      pageCount: statistics.ms_branch_pages + statistics.ms_leaf_pages
        + statistics.ms_overflow_pages,
      pageByteCount: Int(statistics.ms_psize))
  }

  /// How many pages are free for reuse.
  ///
  /// - Precondition: the transaction is read-only; LMDB opens no cursor there in another.
  func freePageCount() throws(StoreError) -> Int {
    var count = 0
    try scanFreeLists { _, listedCount in count += listedCount }
    return count
  }

  /// The pages from the one numbered `first` on that are free for reuse.
  ///
  /// - Precondition: as for ``freePageCount()``.
  func freePages(from first: Int) throws(StoreError) -> Set<UInt> {
    var pages: Set<UInt> = []
    try scanFreeLists { list, listedCount throws(StoreError) in
      let size = MemoryLayout<UInt>.size
      guard list.count / size > listedCount else {
        throw StoreError(.corrupted, operation: "reading the free pages")
      }
      for index in 0..<listedCount {
        let page = list.littleEndian(at: (index + 1) * size, as: UInt.self)
        if page >= UInt(first) { pages.insert(page) }
      }
    }
    return pages
  }

  /// Hands each list of free pages to `body`: the pages' numbers behind how many they are
  /// (`mdb_stat.c`, which counts them the same way).
  private func scanFreeLists(
    _ body: (_ list: Span<UInt8>, _ listedCount: Int) throws(StoreError) -> Void
  ) throws(StoreError) {
    try scan(.freePages) { _, list throws(StoreError) in
      guard list.count >= MemoryLayout<UInt>.size else {
        throw StoreError(.corrupted, operation: "reading the free pages")
      }
      try body(list, Int(clamping: list.littleEndian(at: 0, as: UInt.self)))
      return true
    }
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

/// Turns a return code of LMDB into an error.
func check(_ code: CInt, _ operation: String) throws(StoreError) {
  guard code == MDB_SUCCESS else {
    throw StoreError(StoreError.Code(rawValue: code), operation: operation)
  }
}

/// Describes bytes to LMDB for the length of `body`. LMDB reads what it is given; that its pointers
/// are not `const` is its way of having one type for both directions.
private func withMemory(of bytes: Span<UInt8>, _ body: (inout MDB_val) -> CInt) -> CInt {
  unsafe bytes.withUnsafeBytes { memory in
    var value = unsafe MDB_val(
      mv_size: memory.count, mv_data: UnsafeMutableRawPointer(mutating: memory.baseAddress))
    return unsafe body(&value)
  }
}

extension MDB_val {
  /// The bytes described, as long as their transaction lends them.
  var bytes: UnsafeBufferPointer<UInt8> {
    unsafe UnsafeRawBufferPointer(start: mv_data, count: mv_size).bindMemory(to: UInt8.self)
  }
}
