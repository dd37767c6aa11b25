/// Writes bits, the least significant of a byte first, as JPEG XL has them.
struct BitMaker {
  private(set) var bytes: [UInt8] = []
  private var count = 0

  mutating func add(_ value: Int, _ bitCount: Int) {
    for bit in 0..<bitCount {
      if count % 8 == 0 { bytes.append(0) }
      if value >> bit & 1 == 1 { bytes[count / 8] |= 1 << (count % 8) }
      count += 1
    }
  }
}
