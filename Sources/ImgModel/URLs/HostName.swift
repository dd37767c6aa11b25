internal import CIDN2

/// Names of hosts in URLs, in the one spelling that is looked up.
enum HostName {
  /// The longest name that is given to libidn2: 255 characters (RFC 1035 section 2.3.4) of four bytes
  /// each.
  private static let maximumByteCount = 1_020

  /// The name in ASCII and lower case: escapes stand for UTF-8 (RFC 3986 section 3.2.2), and labels in
  /// other letters become A-labels (RFC 5891 section 5, after the mapping of UTS #46, which takes
  /// `１２７。0。0。1` for `127.0.0.1`).
  ///
  /// The result is judged, not what was written: the mapping makes `/`, `:`, `@` and `%` of other
  /// characters, and a host is not to end elsewhere than where this parser saw its end.
  ///
  /// - Throws: a ``Failure`` with code `invalid_url`.
  static func ascii(_ written: String) throws(Failure) -> String {
    let bytes = PercentEncoding.decoded(written.utf8)
    guard let name = String(validating: bytes, as: UTF8.self) else {
      throw ImageURL.invalid("the escapes in the host name are not UTF-8")
    }
    let ascii = bytes.allSatisfy { $0 < 0x80 } ? name.lowercased() : try encoded(name)
    guard !ascii.isEmpty, ascii != "." else { throw ImageURL.invalid("names no host") }
    guard ascii.utf8.allSatisfy(isAllowed) else {
      throw ImageURL.invalid("the host name holds a character that no host name has")
    }
    return ascii
  }

  /// Letters, digits and the few other characters that need no escape (RFC 3986 section 2.3): names of
  /// hosts use no more, though DNS could hold any byte.
  private static func isAllowed(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: "-._~".utf8.contains(byte)
    }
  }

  /// As browsers and libcurl have it: `ß` stays itself (nontransitional), and what IDNA2008 does not
  /// know, such as `☃`, is encoded as IDNA2003 would (transitional).
  private static func encoded(_ name: String) throws(Failure) -> String {
    guard name.utf8.count <= maximumByteCount, !name.utf8.contains(0) else {
      throw ImageURL.invalid("the host name is too long or holds a zero byte")
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
      throw ImageURL.invalid("the host name is not valid: \(reason)")
    }
    return unsafe String(cString: text)
  }
}
