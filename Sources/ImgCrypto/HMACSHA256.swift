import CSodium

/// A message authentication code: HMAC (RFC 2104) with SHA-256.
package enum HMACSHA256 {
  /// The size of a code in bytes.
  package static let byteCount = 32

  /// The code of a message.
  ///
  /// - Parameter key: of any length.
  package static func code(of message: [UInt8], key: [UInt8]) -> [UInt8] {
    Sodium.requireReady()
    var state = crypto_auth_hmacsha256_state()
    var code = [UInt8](repeating: 0, count: byteCount)
    // The three functions always return 0 (crypto_auth_hmacsha256.h).
    _ = unsafe crypto_auth_hmacsha256_init(&state, key, key.count)
    _ = unsafe crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
    _ = unsafe crypto_auth_hmacsha256_final(&state, &code)
    return code
  }
}
