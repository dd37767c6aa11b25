public import Glibc

// The system's functions as LMDB calls them: each consults the script of its thread and passes on.
// The manifest makes the linker export them, so that they are found before the C library's.

private typealias Next = NextFunctions

/// What becomes of a call of LMDB's into the system.
private enum Verdict {
  case pass
  case fail
  case shorten
}

/// - Returns: `.fail` with `errno` set.
private func verdict(on function: String) -> Verdict {
  guard let script = CallScript.current, script.isInLibrary else { return .pass }
  switch script.fault(in: function, of: .system) {
  case nil: return .pass
  case .code(let code):
    errno = code
    return .fail
  case .shortWrite:
    errno = ENOSPC
    return .shorten
  }
}

/// The script that is to know of a write of LMDB's.
private var recorder: CallScript? {
  guard let script = CallScript.current, script.isInLibrary else { return nil }
  return script
}

/// `pwrite`, with which the store itself lengthens its file, by zeros.
@c(pwrite)
public func provenWrite(
  _ descriptor: CInt, _ bytes: UnsafeRawPointer?, _ count: Int, _ offset: off_t
) -> Int {
  let written: Int
  switch verdict(on: "pwrite") {
  case .pass: written = unsafe Next.write(descriptor, bytes, count, offset)
  case .fail: return -1
  case .shorten: written = unsafe Next.write(descriptor, bytes, count / 2, offset)
  }
  guard let script = CallScript.current, written > 0 else { return written }
  let file = fileNumber(of: descriptor)
  if script.isInLibrary {
    script.record(
      .write(
        file: file, offset: Int(offset),
        bytes: unsafe Array(UnsafeRawBufferPointer(start: bytes, count: written)),
        isDurable: fcntl(descriptor, F_GETFL) & O_DSYNC != 0))
  } else {
    script.record(.extend(file: file, byteCount: Int(offset) + written))
  }
  return written
}

/// `writev`, which LMDB uses for pages that follow each other, after `lseek`.
@c(writev)
public func provenWriteVector(
  _ descriptor: CInt, _ parts: UnsafePointer<iovec>?, _ count: CInt
) -> Int {
  switch verdict(on: "writev") {
  case .pass: break
  case .fail: return -1
  // All but the last part, and of a single one half.
  case .shorten:
    guard count < 2 else { return unsafe Next.writeVector(descriptor, parts, count - 1) }
    guard var part = unsafe parts?.pointee else { return -1 }
    unsafe part.iov_len /= 2
    return unsafe Next.writeVector(descriptor, &part, 1)
  }
  let offset = recorder == nil ? 0 : Int(lseek(descriptor, 0, SEEK_CUR))
  let written = unsafe Next.writeVector(descriptor, parts, count)
  if let recorder, written > 0 {
    let bytes = unsafe UnsafeBufferPointer(start: parts, count: Int(count)).flatMap { part in
      unsafe Array(UnsafeRawBufferPointer(start: part.iov_base, count: part.iov_len))
    }
    recorder.record(
      .write(
        file: fileNumber(of: descriptor), offset: offset, bytes: Array(bytes.prefix(written)),
        isDurable: fcntl(descriptor, F_GETFL) & O_DSYNC != 0))
  }
  return written
}

/// `pread`.
@c(pread)
public func provenRead(
  _ descriptor: CInt, _ bytes: UnsafeMutableRawPointer?, _ count: Int, _ offset: off_t
) -> Int {
  guard verdict(on: "pread") == .pass else { return -1 }
  return unsafe Next.read(descriptor, bytes, count, offset)
}

/// `fdatasync`.
@c(fdatasync)
public func provenSyncData(_ descriptor: CInt) -> CInt {
  guard verdict(on: "fdatasync") == .pass else { return -1 }
  let code = Next.syncData(descriptor)
  if code == 0 { recorder?.record(.synced(file: fileNumber(of: descriptor))) }
  return code
}

/// `ftruncate`, with which LMDB gives the file of locks its size.
@c(ftruncate)
public func provenTruncate(_ descriptor: CInt, _ byteCount: off_t) -> CInt {
  guard verdict(on: "ftruncate") == .pass else { return -1 }
  return Next.truncate(descriptor, byteCount)
}

/// `posix_fallocate`, with which the store, not LMDB, completes its file. It returns its error.
@c(posix_fallocate)
public func provenAllocate(_ descriptor: CInt, _ offset: off_t, _ byteCount: off_t) -> CInt {
  let code = Next.allocate(descriptor, offset, byteCount)
  if code == 0 {
    CallScript.current?.record(
      .extend(file: fileNumber(of: descriptor), byteCount: Int(offset + byteCount)))
  }
  return code
}

/// `mmap`.
@c(mmap)
public func provenMap(
  _ address: UnsafeMutableRawPointer?, _ byteCount: Int, _ protection: CInt, _ flags: CInt,
  _ descriptor: CInt, _ offset: off_t
) -> UnsafeMutableRawPointer? {
  guard verdict(on: "mmap") == .pass else { return unsafe MAP_FAILED }
  return unsafe Next.map(address, byteCount, protection, flags, descriptor, offset)
}

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
