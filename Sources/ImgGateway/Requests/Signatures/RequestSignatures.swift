import ImgCrypto
import ImgHTTP

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
