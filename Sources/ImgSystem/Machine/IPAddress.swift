import Glibc

/// Converts IP addresses between text and bytes in network order.
package enum IPAddress {
  /// Reads the syntax of inet_pton(3): four decimal numbers without leading zeros, or IPv6 (RFC
  /// 4291 section 2.2) without brackets or zone.
  ///
  /// - Returns: 4 or 16 bytes; `nil` for anything else.
  package static func bytes(parsing text: String) -> [UInt8]? {
    // C reads only the part before a zero byte.
    guard !text.utf8.contains(0) else { return nil }
    return parse(text, AF_INET, byteCount: 4) ?? parse(text, AF_INET6, byteCount: 16)
  }

  /// The canonical text of 4 or 16 bytes (for IPv6 see RFC 5952); `nil` for other counts.
  package static func text(_ bytes: [UInt8]) -> String? {
    let family: CInt
    switch bytes.count {
    case 4: family = AF_INET
    case 16: family = AF_INET6
    default: return nil
    }
    var characters = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard unsafe inet_ntop(family, bytes, &characters, socklen_t(characters.count)) != nil else {
      return nil
    }
    return String(
      decoding: characters.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static func parse(_ text: String, _ family: CInt, byteCount: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: byteCount)
    return unsafe inet_pton(family, text, &bytes) == 1 ? bytes : nil
  }
}
