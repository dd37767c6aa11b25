/// Writes small pictures as PNG files (ISO/IEC 15948), without compression.
enum PlainPNG {
  private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  /// 8 bits a sample, colours with alpha; one way each to compress, to filter and to interlace.
  private static let form: [UInt8] = [8, 6, 0, 0, 0]
  /// Of a stored block (RFC 1951 section 3.2.4).
  private static let blockMaximumByteCount = 0xFFFF

  static func file(of pixels: ImagePixels) -> [UInt8] {
    // A row that is not filtered begins with 0.
    let rows = (0..<pixels.height).flatMap { [0] + pixels.row($0) }
    let size = bytes(of: UInt32(pixels.width)) + bytes(of: UInt32(pixels.height))
    return signature + chunk("IHDR", size + form) + chunk("IDAT", stream(rows)) + chunk("IEND", [])
  }

  private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
    let checked = Array(name.utf8) + content
    return bytes(of: UInt32(content.count)) + checked + bytes(of: checksum(checked))
  }

  /// As zlib has it (RFC 1950), in blocks that are stored.
  private static func stream(_ content: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    for start in stride(from: 0, to: content.count, by: blockMaximumByteCount) {
      let block = content[start...].prefix(blockMaximumByteCount)
      let isLast = start + block.count == content.count
      let count = UInt16(block.count)
      let numbers = [count, ~count].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
      stream += [isLast ? 1 : 0] + numbers + block
    }
    let modulus: UInt32 = 65_521
    let (low, high) = content.reduce((UInt32(1), UInt32(0))) { sums, byte in
      let low = (sums.0 + UInt32(byte)) % modulus
      return (low, (sums.1 + low) % modulus)
    }
    return stream + bytes(of: high << 16 | low)
  }

  /// CRC-32 (ISO/IEC 15948, annex D).
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~UInt32(0)) { remainder, byte in
      (0..<8).reduce(remainder ^ UInt32(byte)) { remainder, _ in
        remainder >> 1 ^ (remainder & 1 == 0 ? 0 : 0xEDB8_8320)
      }
    }
  }

  /// The most significant one first.
  private static func bytes(of number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }
}

extension ImagePixels {
  /// A PNG file of the pixels, without compression.
  package var pngFile: [UInt8] { PlainPNG.file(of: self) }
}
