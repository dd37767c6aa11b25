internal import CIDN2

/// Converts the host names of URLs to the spelling that DNS uses.
enum HostName {
  /// The longest name that libidn2 gets: 255 characters (RFC 1035 section 2.3.4) of four bytes each.
  private static let maximumByteCount = 1_020

  /// The name in ASCII and lower case. Escapes are decoded as UTF-8 (RFC 3986 section 3.2.2).
  /// Labels that are not ASCII become A-labels (RFC 5891 section 5) after the mapping of UTS #46,
  /// which maps `１２７。0。0。1` to `127.0.0.1`.
  ///
  /// The check applies to the result, not to the input: the mapping turns other characters into
  /// `/`, `:`, `@` and `%`, and each of those would move the end of the host.
  ///
  /// - Throws: a ``Failure`` with code `invalid_url`.
  static func ascii(_ written: String) throws(Failure) -> String {
    let bytes = PercentEncoding.decoded(written.utf8)
    guard let name = String(validating: bytes, as: UTF8.self) else {
      throw ImageURL.invalid("the escapes in the host name are not UTF-8")
    }
    let ascii = bytes.allSatisfy { $0 < 0x80 } ? name.lowercased() : try encoded(name)
    guard !ascii.isEmpty, ascii != "." else { throw ImageURL.invalid("the URL has no host") }
    guard ascii.utf8.allSatisfy(isAllowed) else {
      throw ImageURL.invalid("the host name contains a character that host names do not have")
    }
    return ascii
  }

  /// The unreserved characters of RFC 3986 section 2.3. Host names use no others, although DNS
  /// allows any byte.
  static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// Encodes like browsers and libcurl: `ß` is kept (nontransitional), and characters that IDNA2008
  /// does not allow, such as `☃`, are encoded by IDNA2003 (transitional).
  private static func encoded(_ name: String) throws(Failure) -> String {
    guard name.utf8.count <= maximumByteCount, !name.utf8.contains(0) else {
      throw ImageURL.invalid("the host name is too long or contains a zero byte")
    }
    do throws(Failure) {
      return try lookedUp(name, IDN2_NFC_INPUT.rawValue | IDN2_NONTRANSITIONAL.rawValue)
    } catch {
      guard let older = try? lookedUp(name, IDN2_TRANSITIONAL.rawValue) else { throw error }
      return older
    }
  }

  private static func lookedUp(_ name: String, _ flags: UInt32) throws(Failure) -> String {
    var output: UnsafeMutablePointer<UInt8>?
    let code = unsafe idn2_lookup_u8(name, &output, CInt(flags))
    defer { unsafe idn2_free(output) }
    guard code == IDN2_OK.rawValue, let text = unsafe output else {
      let reason = unsafe String(cString: idn2_strerror(code))
      throw ImageURL.invalid("the host name is invalid: \(reason)")
    }
    return unsafe String(cString: text)
  }
}
