/// Numbers in the headers of bitmaps and icons, the least significant byte first.
struct LittleEndianBytes {
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The 32 bits at an offset.
  func unsigned(at offset: Int) -> Int {
    bytes[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// The 16 bits at an offset.
  func short(at offset: Int) -> Int {
    Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
  }
}
