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
    reasonForRefusing(address) == nil
  }

  /// What is wrong with `address`, in words for people; `nil` when it may be connected to.
  func reasonForRefusing(_ address: [UInt8]) -> String? {
    guard [4, 16].contains(address.count) else { return "neither IPv4 nor IPv6" }
    if allowed.contains(where: { $0.contains(address) }) { return nil }
    let match = SpecialNetwork.all.first { $0.range.contains(address) }
    switch match?.rule {
    case nil: return nil
    case .refuse(let reason): return reason
    case .checkEmbedded(let offset): return reasonForRefusing(Array(address[offset..<offset + 4]))
    }
  }
}
