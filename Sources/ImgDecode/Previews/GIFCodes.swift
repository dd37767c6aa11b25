/// The compressed codes of a GIF's frame, in sub-blocks (GIF89a section 15), up to where the file is
/// cut.
struct GIFCodes {
  private let input: PictureInput
  private var offset: Int
  /// Where the sub-block ends that is being read.
  private var blockEnd: Int
  private var bits: UInt32 = 0
  private var bitCount = 0

  /// - Parameter offset: of the first sub-block.
  init(_ input: PictureInput, at offset: Int) {
    self.input = input
    self.offset = offset
    blockEnd = offset
  }

  /// - Parameter width: bits of the code, at most 12.
  /// - Returns: `nil` where the codes end.
  mutating func next(width: Int) -> Int? {
    while bitCount < width {
      guard let byte = nextByte() else { return nil }
      bits |= UInt32(byte) << UInt32(bitCount)
      bitCount += 8
    }
    let code = Int(bits & (1 << UInt32(width) - 1))
    bits >>= UInt32(width)
    bitCount -= width
    return code
  }

  private mutating func nextByte() -> UInt8? {
    if offset == blockEnd {
      guard let length = byte(at: offset), length > 0 else { return nil }
      offset += 1
      blockEnd = offset + Int(length)
    }
    defer { offset += 1 }
    return byte(at: offset)
  }

  private func byte(at offset: Int) -> UInt8? {
    offset < input.byteCount ? unsafe input.buffer[offset] : nil
  }
}
