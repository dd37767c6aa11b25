/// What stands between the slashes and the path of a URL (RFC 3986 section 3.2), in one spelling.
struct URLAuthority {
  /// Who asks, with the `@` behind it; empty where the URL does not say.
  let userInformation: String
  /// In ASCII and lower case; an address of version 6 with its brackets.
  let host: String
  /// The port with the colon before it; empty where the URL has none.
  let port: String

  /// - Throws: a ``Failure`` with code `invalid_url`.
  init(parsing bytes: ArraySlice<UInt8>) throws(Failure) {
    // Some parsers take a backslash for the slash that ends the host, others for a part of the user.
    guard bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }) else {
      throw ImageURL.invalid("holds a space, a backslash or a control character before the path")
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

  /// What is between the brackets (RFC 3986 section 3.2.2) is for the parser that connects to judge.
  private static func literal(_ written: String) throws(Failure) -> String {
    guard written.hasSuffix("]"), written.utf8.allSatisfy({ $0 < 0x80 }) else {
      throw ImageURL.invalid("what is in brackets is no address")
    }
    return written.lowercased()
  }
}
