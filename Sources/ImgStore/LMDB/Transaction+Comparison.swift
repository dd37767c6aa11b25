import CLMDB
import Glibc

extension Transaction {
  /// Hands what a table has become since an older snapshot of the same environment: each entry that
  /// is new or has another value, and each key that has gone. Both tables are walked side by side.
  ///
  /// Values that lie at the same place of the map are the same and are not read: LMDB never writes
  /// into a page of a snapshot that is still open. So large ones that did not change, which have
  /// pages of their own, cost nothing.
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

/// A cursor on its way through a table, with the entry that it has come to.
@safe
private struct TableWalk: ~Copyable {
  private let cursor: OpaquePointer?
  private var move = MDB_FIRST
  private(set) var key = unsafe MDB_val()
  private(set) var value = unsafe MDB_val()
  private(set) var isAtEnd = false

  /// Takes over a cursor that was just opened; its transaction lives longer.
  init(_ cursor: OpaquePointer?) {
    unsafe self.cursor = cursor
  }

  deinit {
    unsafe mdb_cursor_close(cursor)
  }

  /// Goes to the first entry, then to the next.
  ///
  /// - Precondition: it is not at the end.
  mutating func advance() throws(StoreError) {
    let code = unsafe mdb_cursor_get(cursor, &key, &value, move)
    move = MDB_NEXT
    isAtEnd = code == MDB_NOTFOUND
    if !isAtEnd { try check(code, "mdb_cursor_get") }
  }

  /// Below 0 when the entry here comes before the other one. The end comes behind all entries.
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
