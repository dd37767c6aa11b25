import CLMDB
import Glibc

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
