import CLMDB

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
