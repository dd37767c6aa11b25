/// Where the first frame of a GIF lies on its canvas (GIF89a sections 18 and 20).
struct GIFFirstFrame: Equatable {
  let left: Int
  let top: Int
  let width: Int
  let height: Int

  private static let screenDescriptorEnd = 13

  /// - Parameter read: the bytes of the file from an offset on, at most so many.
  /// - Returns: `nil` when no frame is found.
  init?(_ read: (_ offset: Int, _ byteCount: Int) -> [UInt8]) {
    let screen = read(0, Self.screenDescriptorEnd)
    guard screen.count == Self.screenDescriptorEnd else { return nil }
    var offset = Self.screenDescriptorEnd + Self.colourTableByteCount(flags: screen[10])
    while true {
      let block = read(offset, 10)
      switch block.first {
      case UInt8(ascii: ","):
        guard block.count == 10 else { return nil }
        let number = { (index: Int) in Int(block[index]) | Int(block[index + 1]) << 8 }
        (left, top, width, height) = (number(1), number(3), number(5), number(7))
        return
      case UInt8(ascii: "!"):
        guard let end = Self.endOfSubBlocks(from: offset + 2, read) else { return nil }
        offset = end
      default:
        return nil
      }
    }
  }

  /// A flag, and the exponent of the number of colours, less 1 (section 18).
  private static func colourTableByteCount(flags: UInt8) -> Int {
    flags & 0x80 == 0 ? 0 : 3 << (Int(flags & 0x07) + 1)
  }

  /// Each sub-block is preceded by its length; one of no length ends them (section 15).
  private static func endOfSubBlocks(from start: Int, _ read: (Int, Int) -> [UInt8]) -> Int? {
    var offset = start
    while let byteCount = read(offset, 1).first {
      offset += 1 + Int(byteCount)
      if byteCount == 0 { return offset }
    }
    return nil
  }
}
