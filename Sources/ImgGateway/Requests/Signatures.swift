import ImgCrypto
import ImgHTTP
package import ImgSettings

/// The signatures of requests: what is signed, and which keys sign.
///
/// A signature is base64 for URLs, without padding, of HMAC-SHA256 of the salt and the signed text.
///
/// - imgproxy's paths: the signed text is the path after the signature, from the slash on.
/// - The query form: the signed text is the target as sent, without the parameter `s` and the `&` that
///   separates it. The target `/image?url=a.example%2Fa.jpg&w=300&s=SIGNATURE` has the text
///   `/image?url=a.example%2Fa.jpg&w=300`.
package struct RequestSignatures: Hashable, Sendable {
  /// Any of them may have signed, so that a new key can come before an old one goes.
  package let keys: [SigningKey]
  /// The bytes of a code that a signature has, from the first one on.
  package let byteCount: Int

  /// imgproxy's `IMGPROXY_SIGNATURE_SIZE`.
  package static let byteCountRange = 1...HMACSHA256.byteCount
  /// The parameter of the query form.
  package static let parameterName = "s"

  /// - Parameters:
  ///   - keys: none accepts requests without a signature.
  ///   - byteCount: in ``byteCountRange``.
  package init(keys: [SigningKey] = [], byteCount: Int = HMACSHA256.byteCount) {
    precondition(Self.byteCountRange.contains(byteCount), "a signature has 1 to 32 bytes")
    self.keys = keys
    self.byteCount = byteCount
  }

  /// Whether requests need a signature.
  package var areRequired: Bool { !keys.isEmpty }

  /// The signature of a text by a key.
  package func signature(of text: String, by key: SigningKey) -> String {
    let code = HMACSHA256.code(of: key.salt + Array(text.utf8), key: key.key)
    return Base64URL.encoded(Array(code.prefix(byteCount)))
  }

  /// - Parameter texts: the text as sent, and as its client may have signed it.
  /// - Throws: 403 if signatures are required, and this is none of a text.
  func require(_ signature: String, of texts: [String]) throws(RequestRejection) {
    guard areRequired else { return }
    let given = Array(signature.utf8)
    // All keys are tried, so that the time does not tell which one has signed.
    let matchCount = texts.reduce(0) { count, text in
      count
        + keys.count { key in
          ConstantTime.isEqual(given, Array(self.signature(of: text, by: key).utf8))
        }
    }
    guard matchCount > 0 else {
      throw RequestRejection(
        .forbidden, code: "invalid_signature",
        "the signature is missing or does not match; sign the request with the server's key")
    }
  }

  /// Checks the signature of the query form.
  ///
  /// - Throws: 403 as ``require(_:of:)``.
  func requireParameter(of target: RequestTarget) throws(RequestRejection) {
    guard areRequired else { return }
    let prefix = "\(Self.parameterName)="
    let parts = (target.query ?? "").split(separator: "&", omittingEmptySubsequences: false)
    let rest = parts.filter { !$0.hasPrefix(prefix) }.joined(separator: "&")
    let signature = parts.first { $0.hasPrefix(prefix) }?.dropFirst(prefix.count) ?? ""
    try require(String(signature), of: [rest.isEmpty ? target.path : "\(target.path)?\(rest)"])
  }
}

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
