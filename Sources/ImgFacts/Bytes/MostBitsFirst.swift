/// Bits of a video stream: the most significant bit of a byte comes first. Behind the end every bit is 0,
/// and ``isWithin`` tells it.
struct MostBitsFirst {
  private let bytes: [UInt8]
  /// In bits.
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Whether all bits that were read are there.
  var isWithin: Bool { position <= bytes.count * 8 }

  /// A number of up to 32 bits.
  mutating func bits(_ count: Int) -> Int {
    var value = 0
    for _ in 0..<count {
      let byte = position / 8 < bytes.count ? Int(bytes[position / 8]) : 0
      value = value << 1 | byte >> (7 - position % 8) & 1
      position += 1
    }
    return value
  }

  mutating func flag() -> Bool { bits(1) == 1 }

  mutating func skip(_ count: Int) { position += count }

  /// ue(v): as many zeros as bits follow behind a one (ITU-T H.265 section 9.2).
  mutating func exponential() -> Int {
    var zeros = 0
    while zeros < 32, isWithin, !flag() { zeros += 1 }
    return 1 << zeros - 1 + bits(zeros)
  }
}
