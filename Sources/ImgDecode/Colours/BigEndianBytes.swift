/// Numbers in the data of a profile, the most significant byte first (ICC.1 section 4).
struct BigEndianBytes {
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  /// The 32 bits at an offset.
  func unsigned(at offset: Int) -> Int {
    bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
  }

  /// The 16 bits at an offset.
  func short(at offset: Int) -> Int {
    Int(bytes[offset]) << 8 | Int(bytes[offset + 1])
  }

  /// An s15Fixed16Number at an offset.
  func fixed(at offset: Int) -> Double {
    Double(Int32(truncatingIfNeeded: unsigned(at: offset))) / 65_536
  }

  // MARK: - Written

  static func number(_ value: Int, byteCount: Int = 4) -> [UInt8] {
    (0..<byteCount).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  /// An s15Fixed16Number.
  static func fixed(_ value: Double) -> [UInt8] { number(Int((value * 65_536).rounded())) }

  /// What the data of a tag begins with.
  static func tag(_ type: String) -> [UInt8] { Array(type.utf8) + [0, 0, 0, 0] }
}
