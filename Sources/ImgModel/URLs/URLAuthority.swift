/// The normalised authority of a URL (RFC 3986 section 3.2).
struct URLAuthority {
  /// The user information with the `@` after it; empty if there is none.
  let userInformation: String
  /// In ASCII and lower case; an IPv6 address has its brackets.
  let host: String
  /// The port with the colon before it; empty if there is none.
  let port: String

  /// - Throws: a ``Failure`` with code `invalid_url`.
  init(parsing bytes: ArraySlice<UInt8>) throws(Failure) {
    // Parsers disagree about a backslash: in some it ends the host, in others it belongs to the user.
    guard bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }) else {
      throw ImageURL.invalid(
        "the URL contains a space, a backslash or a control character before its path")
    }
    let hostStart = bytes.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? bytes.startIndex
    userInformation = PercentEncoding.completed(bytes[..<hostStart])
    let rest = bytes[hostStart...]
    let isLiteral = rest.first == UInt8(ascii: "[")
    let hostEnd =
      isLiteral
      ? rest.firstIndex(of: UInt8(ascii: "]")).map { $0 + 1 } ?? rest.endIndex
      : rest.lastIndex(of: UInt8(ascii: ":")) ?? rest.endIndex
    let written = String(decoding: rest[..<hostEnd], as: UTF8.self)
    host = isLiteral ? try Self.literal(written) : try HostName.ascii(written)
    port = String(decoding: rest[hostEnd...], as: UTF8.self)
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard port.isEmpty || port.hasPrefix(":") && port.utf8.dropFirst().allSatisfy(digits.contains)
    else { throw ImageURL.invalid("the port is not a number") }
  }

  /// An IP literal (RFC 3986 section 3.2.2). Only libcurl's parser validates the address.
  private static func literal(_ written: String) throws(Failure) -> String {
    guard written.hasSuffix("]"), written.utf8.allSatisfy({ $0 < 0x80 }) else {
      throw ImageURL.invalid("the brackets in the host do not contain an address")
    }
    return written.lowercased()
  }
}
