import FoundationEssentials
import ImgModel
import Testing

@Suite struct ThumbHashTests {
  /// A picture of 30 × 20 pixels with transparency, a portrait, a square.
  private static let samples = [
    "5ff8810b82176912337760bc5c3f68cf26076766778867",
    "5ef80515043443405447855887837778ff79aafaaf",
    "1f0802070055455656678676767665057829ffce4976860f",
  ]

  private func bytes(_ digits: String) -> [UInt8] {
    let digits = Array(digits)
    return stride(from: 0, to: digits.count, by: 2).compactMap {
      UInt8(String(digits[$0...$0 + 1]), radix: 16)
    }
  }

  @Test(arguments: samples)
  func `a ThumbHash has exactly the bytes that its head tells of`(digits: String) throws {
    let bytes = bytes(digits)
    #expect(ThumbHash(bytes: bytes)?.bytes == bytes)
    #expect(ThumbHash(bytes: bytes + [0]) == nil)
    for count in bytes.indices { #expect(ThumbHash(bytes: Array(bytes.prefix(count))) == nil) }
  }

  @Test func `a ThumbHash has at least one frequency a side, and not more than its kind allows`() {
    for (transparency, longest) in [(0, 7), (0x80, 5)] as [(UInt8, UInt8)] {
      for orientation in [0, 0x80] as [UInt8] {
        for side in 0...7 as ClosedRange<UInt8> {
          let head = [0, 0, transparency, side, orientation]
          let isShape = (1...longest).contains(side)
          let lengths = (0...40).filter {
            ThumbHash(bytes: head + [UInt8](repeating: 0, count: $0)) != nil
          }
          #expect(lengths.count == (isShape ? 1 : 0), "\(head) \(lengths)")
        }
      }
    }
  }

  @Test func `no ThumbHash is longer than the room for it`() {
    for side in 1...7 as ClosedRange<UInt8> {
      for orientation in [0, 0x80] as [UInt8] {
        for transparency in [0, 0x80] as [UInt8] {
          let head = [0, 0, transparency, side, orientation]
          for count in ThumbHash.maximumByteCount - 4...64 {
            #expect(ThumbHash(bytes: head + [UInt8](repeating: 0, count: count)) == nil)
          }
        }
      }
    }
  }

  @Test func `the unused half of the last byte is empty`() {
    // A square has 27 frequencies of luminance, and two times five of colour.
    let bytes: [UInt8] = [0, 0, 0, 7, 0] + Array(repeating: 0xFF, count: 18)
    #expect(ThumbHash(bytes: bytes + [0x0F]) != nil)
    #expect(ThumbHash(bytes: bytes + [0x10]) == nil)
  }

  @Test(arguments: samples)
  func `a ThumbHash is base64 text in JSON`(digits: String) throws {
    let hash = try #require(ThumbHash(bytes: bytes(digits)))
    let json = try JSONEncoder().encode([hash])
    let texts = try JSONDecoder().decode([String].self, from: json)
    #expect(texts == [hash.text] && Data(base64Encoded: hash.text) == Data(hash.bytes))
    #expect(try JSONDecoder().decode([ThumbHash].self, from: json) == [hash])
    for text in [#"[""]"#, #"["AAAA"]"#, #"["?"]"#, "[7]"] {
      #expect(throws: DecodingError.self) {
        try JSONDecoder().decode([ThumbHash].self, from: Data(text.utf8))
      }
    }
  }
}
