import CLMDB
import ImgSystem

/// The yardstick: LMDB called as its documentation shows, with the settings of the store and
/// records as long as the store's, but one table, no facts, no checksums, no expiry and no budget.
/// Its file grows with each commit, where the store's grows in steps.
@safe
final class BareStore {
  /// How a value is looked up.
  enum Way: String {
    /// A transaction of its own: begin, get, abort. The value is not looked at.
    case begun = "bare"
    /// A transaction that is kept: renew, get, reset. The value is not looked at.
    case renewed = "bare-renewed"
    /// As `begun`, and the value is copied, so that its bytes are read once, as a hit reads them.
    case copied = "bare-copied"
  }

  private var environment: OpaquePointer?
  private var table: MDB_dbi = 0
  private var kept: OpaquePointer?
  private var copy: [UInt8]

  init(directory: String, recordByteCount: Int) throws {
    copy = [UInt8](repeating: 0, count: recordByteCount)
    try Directory.create(directory)
    try check(unsafe mdb_env_create(&environment))
    try check(unsafe mdb_env_set_maxdbs(environment, 8))
    try check(unsafe mdb_env_set_maxreaders(environment, 512))
    try check(unsafe mdb_env_set_mapsize(environment, 1 << 40))
    let flags = CUnsignedInt(MDB_NOTLS | MDB_NOMETASYNC)
    try check(unsafe mdb_env_open(environment, directory, flags, 0o600))
    try unsafe write { transaction in
      try check(unsafe mdb_dbi_open(transaction, "records", CUnsignedInt(MDB_CREATE), &table))
    }
    try check(unsafe mdb_txn_begin(environment, nil, CUnsignedInt(MDB_RDONLY), &kept))
    unsafe mdb_txn_reset(kept)
  }

  deinit {
    unsafe mdb_txn_abort(kept)
    unsafe mdb_env_close(environment)
  }

  /// Stores the record under every key, as one group.
  func put(_ record: [UInt8], for keys: some Sequence<[UInt8]>) throws {
    try unsafe write { transaction in
      for key in keys {
        let code = unsafe withValue(of: key) { key in
          unsafe withValue(of: record) { record in
            unsafe mdb_put(transaction, table, &key, &record, 0)
          }
        }
        try check(code)
      }
    }
  }

  func look(up key: [UInt8], _ way: Way) throws {
    var transaction = unsafe kept
    if way == .renewed {
      try check(unsafe mdb_txn_renew(transaction))
    } else {
      try check(unsafe mdb_txn_begin(environment, nil, CUnsignedInt(MDB_RDONLY), &transaction))
    }
    defer {
      unsafe way == .renewed ? mdb_txn_reset(transaction) : mdb_txn_abort(transaction)
    }
    var value = unsafe MDB_val()
    try check(unsafe withValue(of: key) { unsafe mdb_get(transaction, table, &$0, &value) })
    guard unsafe value.mv_size == copy.count else {
      throw BenchError("another record than was put")
    }
    if way == .copied {
      unsafe copy.withUnsafeMutableBytes {
        unsafe $0.copyMemory(
          from: UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
      }
    }
  }

  private func write(_ body: (OpaquePointer?) throws -> Void) throws {
    var transaction: OpaquePointer?
    try check(unsafe mdb_txn_begin(environment, nil, 0, &transaction))
    do {
      try unsafe body(transaction)
    } catch {
      unsafe mdb_txn_abort(transaction)
      throw error
    }
    try check(unsafe mdb_txn_commit(transaction))
  }

  private func check(_ code: CInt) throws {
    guard code != MDB_SUCCESS else { return }
    throw BenchError("LMDB: \(unsafe String(cString: mdb_strerror(code)))")
  }

  private func withValue(of bytes: [UInt8], _ body: (inout MDB_val) -> CInt) -> CInt {
    unsafe bytes.withUnsafeBytes { memory in
      var value = unsafe MDB_val(
        mv_size: memory.count, mv_data: UnsafeMutableRawPointer(mutating: memory.baseAddress))
      return unsafe body(&value)
    }
  }
}
