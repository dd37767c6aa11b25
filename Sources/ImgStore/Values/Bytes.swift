/// Integers in the byte orders of the formats on disk: big-endian in keys, where LMDB's byte-wise
/// comparison then sorts them as numbers, little-endian in values.
extension [UInt8] {
  mutating func append(littleEndian value: some FixedWidthInteger) {
    append(bytesOf: value.littleEndian)
  }

  mutating func append(bigEndian value: some FixedWidthInteger) {
    append(bytesOf: value.bigEndian)
  }

  mutating func append(copying bytes: Span<UInt8>) {
    unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
  }

  /// In the order in which they lie in memory.
  private mutating func append(bytesOf value: some FixedWidthInteger) {
    unsafe Swift.withUnsafeBytes(of: value) { unsafe append(contentsOf: $0) }
  }
}

extension Span<UInt8> {
  /// - Precondition: the integer lies within the span.
  func littleEndian<Value: FixedWidthInteger & BitwiseCopyable>(
    at offset: Int, as type: Value.Type
  ) -> Value {
    Value(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: type))
  }

  /// - Precondition: the integer lies within the span.
  func bigEndian<Value: FixedWidthInteger & BitwiseCopyable>(
    at offset: Int, as type: Value.Type
  ) -> Value {
    Value(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: type))
  }

  /// A copy of the bytes in `range` as text; bytes that are not UTF-8 become U+FFFD.
  func text(in range: Range<Int>) -> String {
    unsafe extracting(range).withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
  }

  /// A copy on the heap, for what outlives the transaction.
  func copy() -> [UInt8] {
    unsafe withUnsafeBufferPointer { unsafe Array($0) }
  }
}

extension MutableSpan<UInt8> {
  /// - Precondition: the bytes have room from the offset on.
  mutating func write(_ bytes: Span<UInt8>, at offset: Int) {
    precondition(offset >= 0 && bytes.count <= count - offset, "no room for the bytes")
    unsafe withUnsafeMutableBytes { room in
      unsafe bytes.withUnsafeBytes { bytes in
        let part = unsafe UnsafeMutableRawBufferPointer(rebasing: room[offset...])
        unsafe part.copyMemory(from: bytes)
      }
    }
  }

  /// - Precondition: the integer has room from the offset on.
  mutating func write<Value: FixedWidthInteger & BitwiseCopyable>(
    littleEndian value: Value, at offset: Int
  ) {
    precondition(offset >= 0 && MemoryLayout<Value>.size <= count - offset, "no room for a number")
    unsafe withUnsafeMutableBytes {
      unsafe $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Value.self)
    }
  }
}
