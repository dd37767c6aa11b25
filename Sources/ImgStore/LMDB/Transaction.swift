import CLMDB

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
