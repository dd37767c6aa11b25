/// Bits of a JPEG XL codestream: the least significant bit of a byte comes first (ISO/IEC 18181-1
/// section B.2).
struct LeastBitsFirst {
  /// How a number is written: two bits say which of four ways it is.
  enum Choice {
    case value(Int)
    /// So many bits, and what is added to them.
    case bits(Int, plus: Int = 0)
  }

  private let window: ByteWindow
  /// In bits.
  private var position: Int

  /// - Parameter start: the offset of the first byte.
  init(_ window: ByteWindow, from start: Int) {
    self.window = window
    position = start * 8
  }

  /// A number of up to 32 bits.
  mutating func bits(_ count: Int) throws(FactsError) -> Int {
    let first = position / 8
    let byteCount = (position + count + 7) / 8 - first
    let bytes = try window.fields(at: first, count: byteCount, order: .littleEndian)
    defer { position += count }
    let all = bytes.number(at: 0, count: byteCount) >> UInt64(position % 8)
    return Int(all & (1 << UInt64(count) - 1))
  }

  mutating func flag() throws(FactsError) -> Bool { try bits(1) == 1 }

  mutating func number(
    _ choices: (Choice, Choice, Choice, Choice)
  ) throws(FactsError) -> Int {
    let choice: Choice
    switch try bits(2) {
    case 0: choice = choices.0
    case 1: choice = choices.1
    case 2: choice = choices.2
    default: choice = choices.3
    }
    switch choice {
    case .value(let value): return value
    case .bits(let count, let addend): return try bits(count) + addend
    }
  }

  /// A value of an enumeration.
  mutating func enumeration() throws(FactsError) -> Int {
    try number((.value(0), .value(1), .bits(4, plus: 2), .bits(6, plus: 18)))
  }
}
