import ImgCrypto
import Testing

/// The test cases of RFC 4231.
struct HMACSHA256Tests {
  @Test func `a short key gives the code of RFC 4231, section 4_3`() {
    let code = HMACSHA256.code(
      of: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8))
    #expect(hex(code) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
  }

  @Test func `a key longer than a block gives the code of RFC 4231, section 4_7`() {
    let code = HMACSHA256.code(
      of: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
      key: [UInt8](repeating: 0xAA, count: 131))
    #expect(hex(code) == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
  }

  @Test func `secrets are equal only with equal lengths and bytes`() {
    #expect(ConstantTime.isEqual([1, 2, 3], [1, 2, 3]))
    #expect(!ConstantTime.isEqual([1, 2, 3], [1, 2, 4]))
    #expect(!ConstantTime.isEqual([1, 2, 3], [1, 2]))
    #expect(ConstantTime.isEqual([], []))
  }

  /// Computed by b2sum -l 128.
  @Test func `a BLAKE2b hash has the length that was asked for`() {
    #expect(
      hex(BLAKE2b.hash(Array("abc".utf8), byteCount: 16)) == "cf4ab791c62b8d2b2109c90275287816")
  }

  @Test func `the words of a hash are its bytes`() {
    let words = BLAKE2b.words(of: "abc")
    let bytes = [words.0, words.1, words.2, words.3].flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
    }
    #expect(bytes == BLAKE2b.hash(Array("abc".utf8), byteCount: 32))
  }

  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { byte in
      let digits = String(byte, radix: 16)
      return byte < 16 ? "0\(digits)" : digits
    }.joined()
  }
}

struct SHA256Tests {
  /// From the examples of FIPS 180-4.
  @Test func `the hash of a text is that of the standard`() {
    #expect(
      SHA256.hash(Array("abc".utf8))[..<8] == [0xBA, 0x78, 0x16, 0xBF, 0x8F, 0x01, 0xCF, 0xEA])
    #expect(SHA256.hash([]).count == 32)
  }

  @Test func `the hash of a text in parts is that of the whole`() {
    var hash = SHA256()
    for part in ["a", "", "bc"] { hash.update(Array(part.utf8)) }
    #expect(hash.finish() == SHA256.hash(Array("abc".utf8)))
  }
}
