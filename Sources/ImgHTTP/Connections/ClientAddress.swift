/// What the limit of connections of one address counts together: an IPv4 address, or the first 64 bits of an
/// IPv6 address, because one client has all addresses of such a network (RFC 4291, section 2.5.1).
struct ClientAddress: Hashable, Sendable {
  private static let mappedPrefix: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]

  private let bytes: [UInt8]

  /// - Parameter ip: 4 or 16 bytes in network order.
  /// - Returns: `nil` for a loopback address, and for a Unix socket, whose address is empty. All clients of
  ///   a reverse proxy have these.
  init?(ip: [UInt8]) {
    let isMapped = ip.count == 16 && ip.starts(with: Self.mappedPrefix)
    let address = isMapped ? Array(ip.suffix(4)) : ip
    switch address.count {
    case 4 where address[0] != 127: bytes = address
    case 16 where address != Array(repeating: 0, count: 15) + [1]: bytes = Array(address.prefix(8))
    default: return nil
    }
  }
}
