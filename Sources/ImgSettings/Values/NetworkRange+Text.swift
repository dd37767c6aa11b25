package import ImgModel
import ImgSystem

extension NetworkRange {
  /// Reads CIDR notation. An address without a prefix length is a block of one address.
  ///
  /// A block with bits beyond its prefix is refused, because either the address or the prefix
  /// length is a mistake. A block of IPv4-mapped IPv6 addresses (RFC 4291 section 2.5.5.2) is
  /// refused, because addresses are unmapped before they are compared.
  package init(parsing text: String) throws(InvalidValue) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let bytes = IPAddress.bytes(parsing: String(parts[0])) else {
      throw Self.notARange(text)
    }
    var prefixLength = bytes.count * 8
    if parts.count == 2 {
      guard parts[1].utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
        let number = Int(parts[1])
      else {
        throw Self.notARange(text)
      }
      prefixLength = number
    }
    guard let range = NetworkRange(bytes: bytes, prefixLength: prefixLength) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) has a prefix longer than its \(bytes.count * 8) bits of address")
    }
    guard range.bytes == bytes else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) has bits beyond its prefix; the block is \(range.text)")
    }
    let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
    guard prefixLength < 96 || bytes.count == 4 || !bytes.starts(with: mapped) else {
      throw InvalidValue("\(Spelling.quoted(text)) maps IPv4 addresses; write the IPv4 block")
    }
    self = range
  }

  /// CIDR notation, always with the prefix length.
  package var text: String {
    guard let address = IPAddress.text(bytes) else {
      preconditionFailure("a block has an address of 4 or 16 bytes")
    }
    return "\(address)/\(prefixLength)"
  }

  private static func notARange(_ text: String) -> InvalidValue {
    InvalidValue(
      "\(Spelling.quoted(text)) is not a network; write an address or a block such as 10.0.0.0/8")
  }
}
