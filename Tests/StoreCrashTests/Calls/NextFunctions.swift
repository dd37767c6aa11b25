import Glibc

/// The functions of the libraries that those of this program stand before.
enum NextFunctions {
  typealias Handle = OpaquePointer?
  typealias Out = UnsafeMutableRawPointer?

  // Each signature occurs several times.
  typealias OnHandle = @convention(c) @Sendable (Handle) -> CInt
  typealias OnHandleVoid = @convention(c) @Sendable (Handle) -> Void
  typealias OnHandleOut = @convention(c) @Sendable (Handle, Out) -> CInt
  typealias OnHandleNumber = @convention(c) @Sendable (Handle, CUnsignedInt) -> CInt
  typealias OnHandleFlag = @convention(c) @Sendable (Handle, CInt) -> CInt
  typealias OnHandleSize = @convention(c) @Sendable (Handle, Int) -> CInt
  typealias OnTableOut = @convention(c) @Sendable (Handle, CUnsignedInt, Out) -> CInt
  typealias OnTableFlag = @convention(c) @Sendable (Handle, CUnsignedInt, CInt) -> CInt
  typealias OnEntry = @convention(c) @Sendable (Handle, CUnsignedInt, Out, Out) -> CInt
  typealias Put = @convention(c) @Sendable (Handle, CUnsignedInt, Out, Out, CUnsignedInt) -> CInt
  typealias OnCursor = @convention(c) @Sendable (Handle, Out, Out, CUnsignedInt) -> CInt
  typealias OpenEnvironment =
    @convention(c) @Sendable (Handle, UnsafePointer<CChar>?, CUnsignedInt, mode_t) -> CInt
  typealias OpenTable =
    @convention(c) @Sendable (Handle, UnsafePointer<CChar>?, CUnsignedInt, Out) -> CInt
  typealias Begin = @convention(c) @Sendable (Handle, Handle, CUnsignedInt, Out) -> CInt
  typealias Create = @convention(c) @Sendable (Out) -> CInt

  typealias Write = @convention(c) @Sendable (CInt, UnsafeRawPointer?, Int, off_t) -> Int
  typealias WriteVector = @convention(c) @Sendable (CInt, UnsafePointer<iovec>?, CInt) -> Int
  typealias Read = @convention(c) @Sendable (CInt, Out, Int, off_t) -> Int
  typealias Sync = @convention(c) @Sendable (CInt) -> CInt
  typealias Truncate = @convention(c) @Sendable (CInt, off_t) -> CInt
  typealias Allocate = @convention(c) @Sendable (CInt, off_t, off_t) -> CInt
  typealias Map = @convention(c) @Sendable (Out, Int, CInt, CInt, CInt, off_t) -> Out

  static let environmentCreate: Create = unsafe next("mdb_env_create")
  static let environmentOpen: OpenEnvironment = unsafe next("mdb_env_open")
  static let environmentClose: OnHandleVoid = unsafe next("mdb_env_close")
  static let setMaximumTables: OnHandleNumber = unsafe next("mdb_env_set_maxdbs")
  static let setMaximumReaders: OnHandleNumber = unsafe next("mdb_env_set_maxreaders")
  static let setMapSize: OnHandleSize = unsafe next("mdb_env_set_mapsize")
  static let environmentDescriptor: OnHandleOut = unsafe next("mdb_env_get_fd")
  static let environmentInformation: OnHandleOut = unsafe next("mdb_env_info")
  static let environmentStatistics: OnHandleOut = unsafe next("mdb_env_stat")
  static let environmentSync: OnHandleFlag = unsafe next("mdb_env_sync")
  static let checkReaders: OnHandleOut = unsafe next("mdb_reader_check")
  static let begin: Begin = unsafe next("mdb_txn_begin")
  static let commit: OnHandle = unsafe next("mdb_txn_commit")
  static let abort: OnHandleVoid = unsafe next("mdb_txn_abort")
  static let renew: OnHandle = unsafe next("mdb_txn_renew")
  static let openTable: OpenTable = unsafe next("mdb_dbi_open")
  static let tableStatistics: OnTableOut = unsafe next("mdb_stat")
  static let drop: OnTableFlag = unsafe next("mdb_drop")
  static let get: OnEntry = unsafe next("mdb_get")
  static let put: Put = unsafe next("mdb_put")
  static let delete: OnEntry = unsafe next("mdb_del")
  static let cursorOpen: OnTableOut = unsafe next("mdb_cursor_open")
  static let cursorClose: OnHandleVoid = unsafe next("mdb_cursor_close")
  static let cursorGet: OnCursor = unsafe next("mdb_cursor_get")
  static let cursorPut: OnCursor = unsafe next("mdb_cursor_put")
  static let cursorDelete: OnHandleNumber = unsafe next("mdb_cursor_del")

  static let write: Write = unsafe next("pwrite")
  static let writeVector: WriteVector = unsafe next("writev")
  static let read: Read = unsafe next("pread")
  static let syncData: Sync = next("fdatasync")
  static let truncate: Truncate = next("ftruncate")
  static let allocate: Allocate = next("posix_fallocate")
  static let map: Map = unsafe next("mmap")

  /// The function of this name that the next library in the order of search has (dlsym(3)).
  private static func next<Function>(_ name: String) -> Function {
    let nextLibrary = unsafe UnsafeMutableRawPointer(bitPattern: -1)
    guard let address = unsafe dlsym(nextLibrary, name) else {
      preconditionFailure("no library has \(name)")
    }
    return unsafe unsafeBitCast(address, to: Function.self)
  }
}
