/// In which order a file stores the bytes of a number.
package enum ByteOrder: Sendable {
  case littleEndian, bigEndian
}

/// Numbers in bytes that have been read. Behind the end every byte is 0: a reader asks for the bytes
/// of all fields that it uses.
struct BinaryFields {
  let bytes: [UInt8]
  let order: ByteOrder

  init(_ bytes: [UInt8], _ order: ByteOrder = .bigEndian) {
    self.bytes = bytes
    self.order = order
  }

  var count: Int { bytes.count }

  func u8(_ offset: Int) -> Int {
    bytes.indices.contains(offset) ? Int(bytes[offset]) : 0
  }

  func u16(_ offset: Int) -> Int { Int(number(at: offset, count: 2)) }
  func u24(_ offset: Int) -> Int { Int(number(at: offset, count: 3)) }
  func u32(_ offset: Int) -> Int { Int(number(at: offset, count: 4)) }

  /// A number of 64 bits; greater ones than an `Int` holds become the greatest.
  func u64(_ offset: Int) -> Int { Int(clamping: number(at: offset, count: 8)) }

  /// A number of `count` bytes, 0…8.
  func unsigned(_ offset: Int, count: Int) -> Int {
    Int(clamping: number(at: offset, count: count))
  }

  /// The bits of a number of `count` bytes, 0…8.
  func number(at offset: Int, count: Int) -> UInt64 {
    var value: UInt64 = 0
    for index in 0..<count {
      let place = order == .bigEndian ? index : count - 1 - index
      value = value << 8 | UInt64(u8(offset + place))
    }
    return value
  }

  /// Four letters, as chunks, boxes and profiles name their parts.
  func name(_ offset: Int) -> String {
    String(decoding: (0..<4).map { UInt8(u8(offset + $0)) }, as: UTF8.self)
  }
}
