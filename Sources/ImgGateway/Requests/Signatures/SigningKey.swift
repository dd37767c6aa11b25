package import ImgSettings

/// A secret that signs requests, with its salt, as imgproxy has them.
package struct SigningKey: Hashable, Sendable {
  package let key: [UInt8]
  package let salt: [UInt8]

  /// - Parameters:
  ///   - key: of at least one byte.
  ///   - salt: may be empty.
  package init(key: [UInt8], salt: [UInt8]) {
    self.key = key
    self.salt = salt
  }

  /// The bytes of a key at least. As many bytes of a signature count at least.
  private static let minimumByteCount = 8

  /// - Parameters:
  ///   - hexadecimalKey: pairs of hexadecimal digits, as of `IMGPROXY_KEY`.
  ///   - hexadecimalSalt: the same, as of `IMGPROXY_SALT`.
  package init(hexadecimalKey: String, hexadecimalSalt: String) throws(InvalidValue) {
    // The texts are secret, so no message shows them.
    guard let key = Self.bytes(hexadecimalKey), !key.isEmpty else {
      throw InvalidValue("is not a key in hexadecimal digits; make one with: openssl rand -hex 32")
    }
    guard key.count >= Self.minimumByteCount else {
      throw InvalidValue(
        "has a key of \(key.count) byte\(key.count == 1 ? "" : "s"), which can be guessed; a key has at "
          + "least \(Self.minimumByteCount). Make one with: openssl rand -hex 32")
    }
    guard let salt = Self.bytes(hexadecimalSalt) else {
      throw InvalidValue("is not a salt in hexadecimal digits; make one with: openssl rand -hex 32")
    }
    self.init(key: key, salt: salt)
  }

  private static func bytes(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    for start in stride(from: 0, to: digits.count, by: 2) {
      let pair = digits[start..<start + 2]
      guard pair.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
        let byte = UInt8(String(decoding: pair, as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(byte)
    }
    return bytes
  }
}
