/// Integers in the byte orders of the formats on disk: big-endian in keys, where LMDB's byte-wise
/// comparison then sorts them as numbers, little-endian in values.
extension [UInt8] {
  mutating func append(littleEndian value: some FixedWidthInteger) {
    for shift in stride(from: 0, to: value.bitWidth, by: 8) {
      append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }

  mutating func append(bigEndian value: some FixedWidthInteger) {
    for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
      append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }
}

extension Span<UInt8> {
  /// - Precondition: the integer lies within the span.
  func littleEndian<Value: FixedWidthInteger>(at offset: Int, as _: Value.Type) -> Value {
    var value: Value = 0
    for index in (0..<MemoryLayout<Value>.size).reversed() {
      value = value << 8 | Value(truncatingIfNeeded: self[offset + index])
    }
    return value
  }

  /// - Precondition: the integer lies within the span.
  func bigEndian<Value: FixedWidthInteger>(at offset: Int, as _: Value.Type) -> Value {
    var value: Value = 0
    for index in 0..<MemoryLayout<Value>.size {
      value = value << 8 | Value(truncatingIfNeeded: self[offset + index])
    }
    return value
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
