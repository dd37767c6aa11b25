import CLMDB
import Glibc

// LMDB's functions as this program calls them: each consults the script of its thread and passes on
// to LMDB. They are public so that the linker puts them before the library's.

private typealias Next = NextFunctions
/// An environment, a transaction or a cursor.
public typealias Handle = OpaquePointer?
/// Where a result goes, or a key or a value lies.
public typealias Out = UnsafeMutableRawPointer?

/// Makes a call into LMDB, unless the script makes it fail.
private func call(_ function: String, _ next: () -> CInt) -> CInt {
  guard let script = CallScript.current else { return next() }
  switch script.fault(in: function, of: .library) {
  case .code(let code): return code
  case .shortWrite: return ENOSPC
  case nil: return script.enteringLibrary(next)
  }
}

/// Makes a call that cannot fail.
private func callVoid(_ next: () -> Void) {
  guard let script = CallScript.current else { return next() }
  script.enteringLibrary(next)
}

/// What LMDB has written to where a result goes.
private func result(at out: Out) -> Handle {
  unsafe out?.load(as: OpaquePointer?.self)
}

// MARK: - Environments

/// `mdb_env_create`.
@c(mdb_env_create)
public func provenEnvironmentCreate(_ out: Out) -> CInt {
  let code = call("mdb_env_create") { unsafe Next.environmentCreate(out) }
  if code == 0 { unsafe CallScript.current?.opened(result(at: out)) }
  return code
}

/// `mdb_env_open`.
@c(mdb_env_open)
public func provenEnvironmentOpen(
  _ environment: Handle, _ path: UnsafePointer<CChar>?, _ flags: CUnsignedInt, _ mode: CUnsignedInt
) -> CInt {
  call("mdb_env_open") { unsafe Next.environmentOpen(environment, path, flags, mode) }
}

/// `mdb_env_close`.
@c(mdb_env_close)
public func provenEnvironmentClose(_ environment: Handle) {
  unsafe CallScript.current?.closed(environment)
  callVoid { unsafe Next.environmentClose(environment) }
}

/// `mdb_env_set_maxdbs`.
@c(mdb_env_set_maxdbs)
public func provenSetMaximumTables(_ environment: Handle, _ count: CUnsignedInt) -> CInt {
  call("mdb_env_set_maxdbs") { unsafe Next.setMaximumTables(environment, count) }
}

/// `mdb_env_set_maxreaders`.
@c(mdb_env_set_maxreaders)
public func provenSetMaximumReaders(_ environment: Handle, _ count: CUnsignedInt) -> CInt {
  call("mdb_env_set_maxreaders") { unsafe Next.setMaximumReaders(environment, count) }
}

/// `mdb_env_set_mapsize`.
@c(mdb_env_set_mapsize)
public func provenSetMapSize(_ environment: Handle, _ byteCount: Int) -> CInt {
  call("mdb_env_set_mapsize") { unsafe Next.setMapSize(environment, byteCount) }
}

/// `mdb_env_get_fd`.
@c(mdb_env_get_fd)
public func provenEnvironmentDescriptor(_ environment: Handle, _ out: Out) -> CInt {
  call("mdb_env_get_fd") { unsafe Next.environmentDescriptor(environment, out) }
}

/// `mdb_env_info`.
@c(mdb_env_info)
public func provenEnvironmentInformation(_ environment: Handle, _ out: Out) -> CInt {
  call("mdb_env_info") { unsafe Next.environmentInformation(environment, out) }
}

/// `mdb_env_stat`.
@c(mdb_env_stat)
public func provenEnvironmentStatistics(_ environment: Handle, _ out: Out) -> CInt {
  call("mdb_env_stat") { unsafe Next.environmentStatistics(environment, out) }
}

/// `mdb_env_sync`.
@c(mdb_env_sync)
public func provenEnvironmentSync(_ environment: Handle, _ isForced: CInt) -> CInt {
  call("mdb_env_sync") { unsafe Next.environmentSync(environment, isForced) }
}

/// `mdb_reader_check`.
@c(mdb_reader_check)
public func provenCheckReaders(_ environment: Handle, _ out: Out) -> CInt {
  call("mdb_reader_check") { unsafe Next.checkReaders(environment, out) }
}

// MARK: - Transactions

/// `mdb_txn_begin`.
@c(mdb_txn_begin)
public func provenBegin(
  _ environment: Handle, _ parent: Handle, _ flags: CUnsignedInt, _ out: Out
) -> CInt {
  let code = call("mdb_txn_begin") {
    unsafe Next.begin(environment, parent, flags, out)
  }
  if code == 0 {
    unsafe CallScript.current?.began(
      result(at: out), isReadOnly: flags & CUnsignedInt(MDB_RDONLY) != 0)
  }
  return code
}

/// `mdb_txn_commit`.
@c(mdb_txn_commit)
public func provenCommit(_ transaction: Handle) -> CInt {
  let wasWriter = unsafe CallScript.current?.ended(transaction) ?? false
  var isCalled = false
  let code = call("mdb_txn_commit") {
    isCalled = true
    return unsafe Next.commit(transaction)
  }
  // It frees the transaction also when it fails (lmdb.h).
  if !isCalled { unsafe Next.abort(transaction) }
  if wasWriter, code == 0 { CallScript.current?.record(.committed) }
  return code
}

/// `mdb_txn_abort`.
@c(mdb_txn_abort)
public func provenAbort(_ transaction: Handle) {
  unsafe CallScript.current?.ended(transaction)
  callVoid { unsafe Next.abort(transaction) }
}

/// `mdb_txn_renew`.
@c(mdb_txn_renew)
public func provenRenew(_ transaction: Handle) -> CInt {
  call("mdb_txn_renew") { unsafe Next.renew(transaction) }
}

// MARK: - Tables and entries

/// `mdb_dbi_open`.
@c(mdb_dbi_open)
public func provenOpenTable(
  _ transaction: Handle, _ name: UnsafePointer<CChar>?, _ flags: CUnsignedInt, _ out: Out
) -> CInt {
  call("mdb_dbi_open") { unsafe Next.openTable(transaction, name, flags, out) }
}

/// `mdb_stat`.
@c(mdb_stat)
public func provenTableStatistics(
  _ transaction: Handle, _ table: CUnsignedInt, _ out: Out
) -> CInt {
  call("mdb_stat") { unsafe Next.tableStatistics(transaction, table, out) }
}

/// `mdb_drop`.
@c(mdb_drop)
public func provenDrop(_ transaction: Handle, _ table: CUnsignedInt, _ isDeleted: CInt) -> CInt {
  call("mdb_drop") { unsafe Next.drop(transaction, table, isDeleted) }
}

/// `mdb_get`.
@c(mdb_get)
public func provenGet(
  _ transaction: Handle, _ table: CUnsignedInt, _ key: Out, _ value: Out
) -> CInt {
  call("mdb_get") { unsafe Next.get(transaction, table, key, value) }
}

/// `mdb_put`.
@c(mdb_put)
public func provenPut(
  _ transaction: Handle, _ table: CUnsignedInt, _ key: Out, _ value: Out, _ flags: CUnsignedInt
) -> CInt {
  call("mdb_put") { unsafe Next.put(transaction, table, key, value, flags) }
}

/// `mdb_del`.
@c(mdb_del)
public func provenDelete(
  _ transaction: Handle, _ table: CUnsignedInt, _ key: Out, _ value: Out
) -> CInt {
  call("mdb_del") { unsafe Next.delete(transaction, table, key, value) }
}

/// `mdb_cursor_open`.
@c(mdb_cursor_open)
public func provenCursorOpen(_ transaction: Handle, _ table: CUnsignedInt, _ out: Out) -> CInt {
  let code = call("mdb_cursor_open") { unsafe Next.cursorOpen(transaction, table, out) }
  if code == 0 { unsafe CallScript.current?.openedCursor(result(at: out)) }
  return code
}

/// `mdb_cursor_close`.
@c(mdb_cursor_close)
public func provenCursorClose(_ cursor: Handle) {
  unsafe CallScript.current?.closedCursor(cursor)
  callVoid { unsafe Next.cursorClose(cursor) }
}

/// `mdb_cursor_get`.
@c(mdb_cursor_get)
public func provenCursorGet(
  _ cursor: Handle, _ key: Out, _ value: Out, _ move: CUnsignedInt
) -> CInt {
  call("mdb_cursor_get") { unsafe Next.cursorGet(cursor, key, value, move) }
}

/// `mdb_cursor_put`.
@c(mdb_cursor_put)
public func provenCursorPut(
  _ cursor: Handle, _ key: Out, _ value: Out, _ flags: CUnsignedInt
) -> CInt {
  call("mdb_cursor_put") { unsafe Next.cursorPut(cursor, key, value, flags) }
}

/// `mdb_cursor_del`.
@c(mdb_cursor_del)
public func provenCursorDelete(_ cursor: Handle, _ flags: CUnsignedInt) -> CInt {
  call("mdb_cursor_del") { unsafe Next.cursorDelete(cursor, flags) }
}
