/// A CIDR block (RFC 4632, RFC 4291 section 2.3), such as `10.0.0.0/8` or `fd00::/8`. An address
/// without a prefix length is a block of one.
package struct NetworkRange: Hashable, Sendable {
  /// 4 or 16 bytes in network byte order. The bits after the prefix are zero.
  package let bytes: [UInt8]
  /// The number of significant bits.
  package let prefixLength: Int

  /// - Parameter bytes: an IPv4 (4) or IPv6 (16) address.
  /// - Returns: `nil` for another number of bytes, or if the prefix is longer than the address.
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

  /// Whether the block contains `address` (4 or 16 bytes in network byte order). An IPv6 block does
  /// not contain IPv4 addresses; callers convert `::ffff:0:0/96` to IPv4 first.
  package func contains(_ address: [UInt8]) -> Bool {
    NetworkRange(bytes: address, prefixLength: prefixLength)?.bytes == bytes
  }
}

extension NetworkRange: Fielded {
  /// Reads and validates with the checks of the initialiser.
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    let bytes = try f.field("bytes", value?.bytes)
    let prefixLength = try f.field("prefix", value?.prefixLength)
    guard let range = NetworkRange(bytes: bytes, prefixLength: prefixLength) else {
      throw f.invalid("prefix", "the value is not a CIDR block")
    }
    self = range
  }
}
