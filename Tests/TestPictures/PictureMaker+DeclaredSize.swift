extension PictureMaker {
  /// A small picture whose header claims `side` × `side` pixels.
  ///
  /// - Parameter format: JPEG or PNG.
  package func card(declaring side: Int, in format: PictureFormat) throws(PictureError) -> [UInt8] {
    var picture = try card(index: 1, width: 8, height: 8, format: format)
    let claimed = [UInt8(side >> 8), UInt8(side & 0xFF)]
    switch format {
    case .jpeg:
      // The frame header: marker, length (2), precision (1), height (2), width (2).
      let frameHeader: [UInt8] = [0xFF, 0xC0]
      guard let marker = picture.indices.first(where: { picture[$0...].starts(with: frameHeader) })
      else { preconditionFailure("a JPEG without a frame header") }
      picture.replaceSubrange(marker + 5..<marker + 9, with: claimed + claimed)
    default:
      // The chunk IHDR: length (4), type (4), width (4), height (4), five more bytes, CRC (4).
      picture.replaceSubrange(16..<24, with: [0, 0] + claimed + [0, 0] + claimed)
      let sum = crc32(picture[12..<29])
      picture.replaceSubrange(
        29..<33, with: (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * $0)) })
    }
    return picture
  }

  /// The checksum of a PNG chunk's type and data (ISO/IEC 15948 annex D).
  private func crc32(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    ~bytes.reduce(UInt32.max) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { bits, _ in
        bits & 1 == 1 ? bits >> 1 ^ 0xEDB8_8320 : bits >> 1
      }
    }
  }
}
