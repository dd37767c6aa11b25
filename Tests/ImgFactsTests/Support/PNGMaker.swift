/// Writes PNG chunks. Their checksums are zeros, because facts do not depend on them.
struct PNGMaker {
  static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
    big(data.count, 4) + ascii(name) + data + zeros(4)
  }

  static func header(
    width: Int = 20, height: Int = 10, bits: UInt8 = 8, type: UInt8 = 2, interlaced: Bool = false
  ) -> [UInt8] {
    chunk("IHDR", big(width, 4) + big(height, 4) + [bits, type, 0, 0, interlaced ? 1 : 0])
  }

  static func frame(delay: (Int, Int)) -> [UInt8] {
    chunk("fcTL", zeros(20) + big(delay.0, 2) + big(delay.1, 2) + [0, 0])
  }

  static func file(header: [UInt8] = header(), _ chunks: [[UInt8]]) -> [UInt8] {
    [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + header + chunks.flatMap { $0 }
      + chunk("IEND", [])
  }

  /// zlib data (RFC 1950) that holds bytes as they are. Nothing checks its checksum before the end.
  static func stored(_ bytes: [UInt8]) -> [UInt8] {
    [0x78, 0x01, 1] + little(bytes.count, 2) + little(~bytes.count, 2) + bytes + zeros(4)
  }
}
