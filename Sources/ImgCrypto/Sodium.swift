import CSodium

/// The hash function BLAKE2b without a key (RFC 7693).
package enum BLAKE2b {
  /// The sizes in bytes that a hash may have.
  package static let byteCounts = 16...64

  /// The hash of a message.
  ///
  /// - Parameter byteCount: one of ``byteCounts``.
  package static func hash(_ message: [UInt8], byteCount: Int) -> [UInt8] {
    precondition(byteCounts.contains(byteCount), "BLAKE2b has hashes of 16 to 64 bytes")
    Sodium.requireReady()
    var hash = [UInt8](repeating: 0, count: byteCount)
    let code = unsafe crypto_generichash(
      &hash, hash.count, message, UInt64(message.count), nil, 0)
    precondition(code == 0, "crypto_generichash refuses only impossible lengths")
    return hash
  }

  /// The hash of a text in UTF-8, with 32 bytes, as four big-endian words. Needs no memory on the heap.
  package static func words(of text: String) -> (UInt64, UInt64, UInt64, UInt64) {
    Sodium.requireReady()
    var text = text
    var hash: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    let byteCount = MemoryLayout.size(ofValue: hash)
    let code = unsafe withUnsafeMutablePointer(to: &hash) { words in
      unsafe words.withMemoryRebound(to: UInt8.self, capacity: byteCount) { hash in
        text.withUTF8 { message in
          unsafe crypto_generichash(
            hash, byteCount, message.baseAddress, UInt64(message.count), nil, 0)
        }
      }
    }
    precondition(code == 0, "crypto_generichash refuses only impossible lengths")
    return (
      hash.0.bigEndian, hash.1.bigEndian, hash.2.bigEndian, hash.3.bigEndian
    )
  }
}

/// The hash function SHA-256 (FIPS 180-4), which other programs check files with.
///
/// A message that is not in memory is hashed in parts.
package struct SHA256 {
  private var state = crypto_hash_sha256_state()

  // The functions of libsodium always return 0 here (crypto_hash_sha256.h).

  package init() {
    Sodium.requireReady()
    _ = unsafe crypto_hash_sha256_init(&state)
  }

  /// Adds the next part of the message.
  package mutating func update(_ part: [UInt8]) {
    _ = unsafe crypto_hash_sha256_update(&state, part, UInt64(part.count))
  }

  /// The hash of the parts: 32 bytes.
  package consuming func finish() -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_bytes()))
    _ = unsafe crypto_hash_sha256_final(&state, &hash)
    return hash
  }

  /// The hash of a message: 32 bytes.
  package static func hash(_ message: [UInt8]) -> [UInt8] {
    var hash = SHA256()
    hash.update(message)
    return hash.finish()
  }
}

/// Comparisons whose time does not depend on the content.
package enum ConstantTime {
  /// Whether two secrets are equal. Different lengths are told apart at once.
  package static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    Sodium.requireReady()
    guard left.count == right.count else { return false }
    return unsafe sodium_memcmp(left, right, left.count) == 0
  }
}

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

/// The start of libsodium, once in a process (`sodium_init` may be called from any thread).
enum Sodium {
  /// Whether the library can be used. It cannot where the machine has no randomness.
  static let isReady = sodium_init() >= 0

  /// Stops the process if the library cannot be used: what is hashed then has no key, or no signature.
  static func requireReady() {
    precondition(isReady, "libsodium could not be initialised")
  }
}
