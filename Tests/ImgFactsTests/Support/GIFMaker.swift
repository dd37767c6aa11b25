/// Writes the blocks of a GIF.
struct GIFMaker {
  static func file(width: Int = 20, height: Int = 10, _ blocks: [UInt8]...) -> [UInt8] {
    // A global table of eight colours.
    ascii("GIF89a") + little(width, 2) + little(height, 2) + [0x82, 0, 0] + zeros(24)
      + blocks.flatMap { $0 } + [0x3B]
  }

  static func frame(data: Int = 10, interlaced: Bool = false, localTable: Bool = false) -> [UInt8] {
    [0x2C] + little(1, 2) + little(2, 2) + little(8, 2) + little(4, 2)
      + [(interlaced ? 0x40 : 0) | (localTable ? 0x80 : 0)] + zeros(localTable ? 6 : 0) + [2]
      + subBlocks(zeros(data))
  }

  static func control(delay: Int, transparent: Bool = false) -> [UInt8] {
    [0x21, 0xF9, 4, transparent ? 1 : 0] + little(delay, 2) + [0, 0]
  }

  static func loop(_ count: Int, name: String = "NETSCAPE2.0") -> [UInt8] {
    [0x21, 0xFF, 11] + ascii(name) + [3, 1] + little(count, 2) + [0]
  }

  static func profile(_ bytes: [UInt8]) -> [UInt8] {
    [0x21, 0xFF, 11] + ascii("ICCRGBG1012") + subBlocks(bytes)
  }

  /// The packet has no lengths. Bytes behind it lead a decoder to the end, wherever it arrives.
  static func xmp(_ packet: String) -> [UInt8] {
    [0x21, 0xFF, 11] + ascii("XMP DataXMP" + packet) + [1] + (0...255).reversed() + [0]
  }

  static func comment(_ text: String) -> [UInt8] { [0x21, 0xFE] + subBlocks(ascii(text)) }

  private static func subBlocks(_ bytes: [UInt8]) -> [UInt8] {
    stride(from: 0, to: bytes.count, by: 255).flatMap { start in
      let part = bytes[start..<min(start + 255, bytes.count)]
      return [UInt8(part.count)] + part
    } + [0]
  }
}
