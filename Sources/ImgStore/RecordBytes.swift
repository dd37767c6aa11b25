import ImgModel

/// Integers in the byte orders of the file formats: big-endian in keys, so that LMDB's byte-wise
/// comparison sorts them as numbers, and little-endian in values.
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

  /// In memory order.
  private mutating func append(bytesOf value: some FixedWidthInteger) {
    unsafe Swift.withUnsafeBytes(of: value) { unsafe append(contentsOf: $0) }
  }
}

extension Span<UInt8> {
  /// - Precondition: the integer is within the span.
  func littleEndian<Value: FixedWidthInteger & BitwiseCopyable>(
    at offset: Int, as type: Value.Type
  ) -> Value {
    Value(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: type))
  }

  /// - Precondition: the integer is within the span.
  func bigEndian<Value: FixedWidthInteger & BitwiseCopyable>(
    at offset: Int, as type: Value.Type
  ) -> Value {
    Value(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: type))
  }

  /// A copy of the bytes in `range` as text; bytes that are not UTF-8 become U+FFFD.
  func text(in range: Range<Int>) -> String {
    unsafe extracting(range).withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
  }

  /// A copy on the heap, which may outlive the transaction.
  func copy() -> [UInt8] {
    unsafe withUnsafeBufferPointer { unsafe Array($0) }
  }
}

extension MutableSpan<UInt8> {
  /// - Precondition: the bytes fit behind the offset.
  mutating func write(_ bytes: Span<UInt8>, at offset: Int) {
    precondition(offset >= 0 && bytes.count <= count - offset, "no room for the bytes")
    unsafe withUnsafeMutableBytes { room in
      unsafe bytes.withUnsafeBytes { bytes in
        let part = unsafe UnsafeMutableRawBufferPointer(rebasing: room[offset...])
        unsafe part.copyMemory(from: bytes)
      }
    }
  }

  /// - Precondition: the integer fits behind the offset.
  mutating func write<Value: FixedWidthInteger & BitwiseCopyable>(
    littleEndian value: Value, at offset: Int
  ) {
    precondition(offset >= 0 && MemoryLayout<Value>.size <= count - offset, "no room for a number")
    unsafe withUnsafeMutableBytes {
      unsafe $0.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Value.self)
    }
  }
}

extension ImageFormat {
  /// The format's number in records. Numbers are added, never reused.
  var storedNumber: UInt8 {
    switch self {
    case .jpeg: 1
    case .png: 2
    case .webp: 3
    case .gif: 4
    case .tiff: 5
    case .heif: 6
    case .avif: 7
    case .jxl: 8
    case .svg: 9
    case .jp2: 10
    case .bmp: 11
    case .ico: 12
    case .pnm: 13
    }
  }

  init?(storedNumber: UInt8) {
    switch storedNumber {
    case 1: self = .jpeg
    case 2: self = .png
    case 3: self = .webp
    case 4: self = .gif
    case 5: self = .tiff
    case 6: self = .heif
    case 7: self = .avif
    case 8: self = .jxl
    case 9: self = .svg
    case 10: self = .jp2
    case 11: self = .bmp
    case 12: self = .ico
    case 13: self = .pnm
    default: return nil
    }
  }
}
