/// A block of IP addresses in CIDR notation (RFC 4632, RFC 4291 section 2.3), such as `10.0.0.0/8`
/// or `fd00::/8`; a bare address is a block of one.
package struct NetworkRange: Hashable, Sendable {
  /// Network byte order, 4 or 16 bytes; the bits after the prefix are zero.
  package let bytes: [UInt8]
  /// How many leading bits count.
  package let prefixLength: Int

  /// - Parameter bytes: an IPv4 (4) or IPv6 (16) address; `nil` for any other count, or when the
  ///   prefix is longer than the address.
  package init?(bytes: [UInt8], prefixLength: Int) {
    guard [4, 16].contains(bytes.count), (0...bytes.count * 8).contains(prefixLength) else {
      return nil
    }
    self.prefixLength = prefixLength
    self.bytes = bytes.indices.map { index in
      let kept = min(max(prefixLength - index * 8, 0), 8)
      return bytes[index] & UInt8(truncatingIfNeeded: 0xFF00 >> kept)
    }
  }

  /// Whether `address` (4 or 16 bytes, network order) lies in the block. An IPv4 address never lies
  /// in an IPv6 block; whoever asks unmaps `::ffff:0:0/96` first.
  package func contains(_ address: [UInt8]) -> Bool {
    NetworkRange(bytes: address, prefixLength: prefixLength)?.bytes == bytes
  }
}

extension NetworkRange: Codable {
  private enum CodingKeys: String, CodingKey {
    case bytes
    case prefixLength = "prefix"
  }

  /// Decodes with the same checks as the initialiser.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let range = NetworkRange(
      bytes: try container.decode([UInt8].self, forKey: .bytes),
      prefixLength: try container.decode(Int.self, forKey: .prefixLength))
    guard let range else {
      throw DecodingError.dataCorruptedError(
        forKey: .prefixLength, in: container, debugDescription: "not a block of addresses")
    }
    self = range
  }
}
