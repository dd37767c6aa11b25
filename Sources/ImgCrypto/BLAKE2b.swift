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
