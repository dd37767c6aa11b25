package import ImgModel

/// Which addresses may be connected to: those of the public internet, and networks that the
/// operator allowed.
///
/// A URL from a list must not reach what only this machine can reach (server-side request forgery).
/// The policy checks the address itself, not the name: name servers can answer differently at any
/// moment.
package struct AddressPolicy: Sendable {
  private let allowed: [NetworkRange]

  /// - Parameter allowed: networks that are permitted whatever the table of networks says. An IPv4
  ///   network also covers the IPv6 addresses that embed its addresses.
  package init(allowed: [NetworkRange]) {
    self.allowed = allowed
  }

  /// Whether `address` (4 or 16 bytes, network order) may be connected to. Anything else is no
  /// address and is refused.
  package func permits(_ address: [UInt8]) -> Bool {
    refusal(of: address) == nil
  }

  /// What is wrong with `address`, in words for people, and the address that has to be allowed, which may be embedded in
  /// it; `nil` when it may be connected to.
  package func refusal(of address: [UInt8]) -> (reason: String, address: [UInt8])? {
    guard [4, 16].contains(address.count) else { return ("neither IPv4 nor IPv6", address) }
    if allowed.contains(where: { $0.contains(address) }) { return nil }
    let match = SpecialNetwork.all.first { $0.range.contains(address) }
    switch match?.rule {
    case nil: return nil
    case .refuse(let reason): return (reason, address)
    case .checkEmbedded(let offset): return refusal(of: Array(address[offset..<offset + 4]))
    }
  }
}

/// One row of the table of networks that are not the public internet, after the IANA registries of
/// special-purpose addresses (RFC 6890) and the RFC each row names.
///
/// Anycast addresses of network services are refused although the registries call them globally
/// reachable: the nearest node answers, which may be one of this very network. What cannot be known
/// is a prefix that a network took from its own addresses to reach IPv4 by NAT64 (RFC 6052 section
/// 2.2).
struct SpecialNetwork: Sendable {
  /// What becomes of an address in the network.
  enum Rule: Sendable {
    /// It is refused; the words say what kind of address it is.
    case refuse(String)
    /// It leads to the IPv4 address embedded in it at a byte offset, so that one is checked.
    case checkEmbedded(offset: Int)
  }

  let range: NetworkRange
  let rule: Rule

  /// The first row that contains an address decides; an address in none is public.
  static let all = ipv4 + ipv6Embedding + ipv6

  private static let ipv4 = [
    // RFC 1122 section 3.2.1.3: "this network"; Linux connects 0.0.0.0 to itself.
    ipv4(0, 0, 0, 0, bits: 8, "unspecified"),
    // RFC 1918 section 3
    ipv4(10, 0, 0, 0, bits: 8, "private"),
    // RFC 6598 section 7
    ipv4(100, 64, 0, 0, bits: 10, "carrier-grade NAT"),
    // RFC 1122 section 3.2.1.3
    ipv4(127, 0, 0, 0, bits: 8, "loopback"),
    // RFC 3927 section 2.1; clouds answer for their secrets at 169.254.169.254.
    ipv4(169, 254, 0, 0, bits: 16, "link-local"),
    // RFC 1918 section 3
    ipv4(172, 16, 0, 0, bits: 12, "private"),
    // RFC 6890 section 2.1
    ipv4(192, 0, 0, 0, bits: 24, "reserved for protocols"),
    // RFC 5737 section 3
    ipv4(192, 0, 2, 0, bits: 24, "documentation"),
    // RFC 7535: AS112, then RFC 7450: automatic multicast tunnelling
    ipv4(192, 31, 196, 0, bits: 24, "anycast service"),
    ipv4(192, 52, 193, 0, bits: 24, "anycast service"),
    // RFC 7526 section 5
    ipv4(192, 88, 99, 0, bits: 24, "6to4 relay"),
    // RFC 1918 section 3
    ipv4(192, 168, 0, 0, bits: 16, "private"),
    // RFC 7534: AS112
    ipv4(192, 175, 48, 0, bits: 24, "anycast service"),
    // RFC 2544 appendix C.2.2, RFC 6815
    ipv4(198, 18, 0, 0, bits: 15, "benchmarking"),
    // RFC 5737 section 3
    ipv4(198, 51, 100, 0, bits: 24, "documentation"),
    ipv4(203, 0, 113, 0, bits: 24, "documentation"),
    // RFC 5771 section 3
    ipv4(224, 0, 0, 0, bits: 4, "multicast"),
    // RFC 1112 section 4; holds the limited broadcast of RFC 919 section 7.
    ipv4(240, 0, 0, 0, bits: 4, "reserved"),
  ]

  /// These come before the rows that would refuse them whole.
  private static let ipv6Embedding = [
    // RFC 4291 section 2.5.2 and 2.5.3, before ::/96, which would read an IPv4 address in them.
    ipv6(0, bits: 128, "unspecified"),
    ipv6(0, 0, 0, 0, 0, 0, 0, 1, bits: 128, "loopback"),
    // RFC 4291 section 2.5.5.1: IPv4-compatible
    ipv6(0, bits: 96, embeddedAt: 12),
    // RFC 4291 section 2.5.5.2: IPv4-mapped; the kernel connects these by IPv4.
    ipv6(0, 0, 0, 0, 0, 0xFFFF, bits: 96, embeddedAt: 12),
    // RFC 6052 section 2.1: NAT64
    ipv6(0x64, 0xFF9B, bits: 96, embeddedAt: 12),
    // RFC 3056 section 2: 6to4
    ipv6(0x2002, bits: 16, embeddedAt: 2),
  ]

  private static let ipv6 = [
    // RFC 8215: NAT64 with a prefix length that only its network knows
    ipv6(0x64, 0xFF9B, 1, bits: 48, "local NAT64"),
    // RFC 6666 section 4
    ipv6(0x100, bits: 64, "discard-only"),
    // RFC 4380 section 2.6
    ipv6(0x2001, 0, bits: 32, "Teredo"),
    // RFC 2928: among them benchmarking (RFC 5180), ORCHID (RFC 4843, RFC 7343), drone
    // identities (RFC 9374) and the anycast services (RFC 7723, RFC 8155, RFC 7450, RFC 7535)
    ipv6(0x2001, bits: 23, "reserved for protocols"),
    // RFC 3849
    ipv6(0x2001, 0xDB8, bits: 32, "documentation"),
    // RFC 7534: AS112
    ipv6(0x2620, 0x4F, 0x8000, bits: 48, "anycast service"),
    // RFC 9637
    ipv6(0x3FFF, bits: 20, "documentation"),
    // RFC 9602
    ipv6(0x5F00, bits: 16, "segment routing"),
    // RFC 4193 section 3.1
    ipv6(0xFC00, bits: 7, "private"),
    // RFC 4291 section 2.5.6
    ipv6(0xFE80, bits: 10, "link-local"),
    // RFC 3879 section 4
    ipv6(0xFEC0, bits: 10, "site-local"),
    // RFC 4291 section 2.7
    ipv6(0xFF00, bits: 8, "multicast"),
    // RFC 4291 section 2.4: of the rest, IANA assigns global unicast from 2000::/3 alone.
    ipv6(0, bits: 3, "unassigned"),
    ipv6(0x4000, bits: 2, "unassigned"),
    ipv6(0x8000, bits: 1, "unassigned"),
  ]

  private static func ipv4(
    _ first: UInt8, _ second: UInt8, _ third: UInt8, _ fourth: UInt8, bits: Int, _ reason: String
  ) -> SpecialNetwork {
    SpecialNetwork(range: range([first, second, third, fourth], bits), rule: .refuse(reason))
  }

  private static func ipv6(_ groups: UInt16..., bits: Int, _ reason: String) -> SpecialNetwork {
    SpecialNetwork(range: range(bytes(of: groups), bits), rule: .refuse(reason))
  }

  private static func ipv6(
    _ groups: UInt16..., bits: Int, embeddedAt offset: Int
  ) -> SpecialNetwork {
    SpecialNetwork(range: range(bytes(of: groups), bits), rule: .checkEmbedded(offset: offset))
  }

  /// The 16 bytes of an IPv6 address given by its first groups; the others are zero.
  private static func bytes(of groups: [UInt16]) -> [UInt8] {
    let written = groups.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    return written + Array(repeating: 0, count: 16 - written.count)
  }

  private static func range(_ bytes: [UInt8], _ prefixLength: Int) -> NetworkRange {
    guard let range = NetworkRange(bytes: bytes, prefixLength: prefixLength) else {
      preconditionFailure("a row of the table is no network")
    }
    return range
  }
}
