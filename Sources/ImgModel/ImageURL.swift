internal import CIDN2

/// A valid, normalised URL of a picture: `http:`, `https:`, `data:` or `file:`.
///
/// Every URL passes this parser before anything else sees it, and only this parser normalises URLs.
/// It resolves no names and checks no addresses. The worker parses the text again with libcurl's
/// parser, so the address check and the connection use the same parse.
package struct ImageURL: Hashable, Sendable {
  /// The URL in the spelling that is fetched, hashed and compared. It is ASCII, except for `data:`
  /// and `file:` URLs.
  ///
  /// - Scheme and host are in lower case (RFC 3986 section 6.2.2.1).
  /// - The host is encoded by ``HostName`` (RFC 3987 section 3.1, RFC 5891).
  /// - Characters that URIs do not allow are escaped (``PercentEncoding/completed(_:)``).
  /// - There is no fragment, because servers never see it (RFC 3986 section 3.5), but for the state of a file, see
  ///   ``isReadByCommand``.
  package let text: String

  /// The host that limits and politeness apply to: in lower case, without the port and without the
  /// dot at the end of a fully qualified name.
  ///
  /// Several ports of one machine are one host. Several names of one machine are several hosts,
  /// because only a DNS look-up can tell that they are the same. For a local picture this is a text
  /// with a slash, which is never a host name.
  package let host: String

  /// Scheme, host and port as the URL spells it; robots.txt applies to an origin. Empty for a local
  /// picture.
  package let origin: String

  /// Whether the picture does not come from an origin: it needs no transfer, so transfer limits do
  /// not apply to it and its original is not stored.
  package let isLocal: Bool

  /// Whether this is a `file:` URL.
  package var isFile: Bool { host == Self.fileHost || isReadByCommand }

  /// Whether the command that submitted it reads the file, with the rights of its user. Such a URL names the file in
  /// one state. Any other file may change while its thumbnail is in the store.
  package var isReadByCommand: Bool { host == Self.commandFileHost }

  /// Whether a line of a list is such a URL.
  package static func isReadByCommand(line: String) -> Bool {
    FileURL.version(in: line) != nil && (try? ImageURL(line: line))?.isReadByCommand == true
  }

  /// The path of a file that a command reads; `nil` of any other URL.
  package var localPath: String? { isReadByCommand ? (try? FileURL.path(of: text)) ?? nil : nil }

  /// Whether a text has a scheme or begins with a host name. One without both can be a path, and no URL.
  package static func hasOrigin(_ text: String) -> Bool {
    (try? WrittenURL.completed(text)) != nil
  }

  /// Whether the URL of an origin holds user information.
  package var hasUser: Bool { !text.hasPrefix(origin) }

  private static let fileHost = "file/"
  /// The host of the files that commands read.
  package static let commandFileHost = "command/"

  /// The maximum length of a URL that is fetched, in bytes of UTF-8. Many servers refuse request lines over
  /// 8 KiB (RFC 9112 section 3 recommends support for at least 8,000 bytes).
  package static let maximumByteCount = 8_192

  /// The maximum length of any URL, in bytes of UTF-8: of a `data:` URL, whose data
  /// ``DataURL/maximumByteCount`` limits as well.
  package static let maximumLineByteCount = 48 << 10

  /// Parses a URL as people type it, in a list or on a command line; see ``WrittenURL``.
  ///
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url` or `unsupported_scheme`.
  package init(line: String) throws(Failure) {
    // Checked first, so that a huge line costs nothing more.
    guard line.utf8.count <= Self.maximumLineByteCount else { throw Self.tooLong(line) }
    if let url = NormalURL(line) {
      self.init(url)
    } else {
      let text = try WrittenURL.completed(line)
      try FileURL.requireNoFragment(text)
      try self.init(normalising: text)
    }
  }

  /// Parses a line of a job. Its URL is all of it: what other text follows would be requested with the URL.
  ///
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url` or `unsupported_scheme`.
  package init(listed line: String) throws(Failure) {
    if line.utf8.contains(where: WrittenURL.isSpace) {
      if let row = UnusableRow(ofLine: line) { throw Self.invalid(row.reason) }
      try WrittenURL.requireNoText(behind: line)
    }
    try self.init(line: line)
  }

  /// Parses a URL that starts with its scheme.
  ///
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url` or `unsupported_scheme`.
  package init(parsing line: String) throws(Failure) {
    if let url = NormalURL(line) { self.init(url) } else { try self.init(normalising: line) }
  }

  private init(_ url: NormalURL) {
    text = url.text
    host = url.host
    origin = url.origin
    isLocal = false
  }

  /// Parses any URL that starts with its scheme.
  init(normalising line: String) throws(Failure) {
    guard line.utf8.count <= Self.maximumLength(of: line) else { throw Self.tooLong(line) }
    let bytes = Array(line.utf8)
    // String decoding replaces invalid UTF-8 with U+FFFD, which is not valid in a URL.
    guard !line.unicodeScalars.contains("\u{FFFD}") else {
      throw Self.invalid("the URL is not valid UTF-8")
    }
    if let local = try Self.local(line, bytes) {
      (text, host) = local
      origin = ""
      isLocal = true
    } else {
      let (scheme, rest) = try Self.parts(of: bytes)
      let end = rest.firstIndex { "/?".utf8.contains($0) } ?? rest.endIndex
      let authority = try URLAuthority(parsing: rest[..<end])
      host = authority.host.hasSuffix(".") ? String(authority.host.dropLast()) : authority.host
      origin = "\(scheme)://\(authority.host)\(authority.port)"
      text =
        "\(scheme)://\(authority.userInformation)\(authority.host)\(authority.port)"
        + PercentEncoding.completed(rest[end...])
      isLocal = false
    }
    // Normalisation adds escapes, which makes the URL longer.
    guard text.utf8.count <= Self.maximumLength(of: text) else { throw Self.tooLong(text) }
  }

  private static func maximumLength(of line: String) -> Int {
    DataURL.isWritten(in: line) ? maximumLineByteCount : maximumByteCount
  }

  /// Of a line that is longer than any URL of its scheme, enough to show that it is.
  package static func shortened(_ line: String) -> String {
    let byteCount = maximumLength(of: line) + 1
    return line.utf8.count <= byteCount
      ? line : String(decoding: line.utf8.prefix(byteCount), as: UTF8.self)
  }

  /// The text and the host of a `data:` or `file:` URL; `nil` for any other URL.
  private static func local(
    _ line: String, _ bytes: [UInt8]
  ) throws(Failure) -> (text: String, host: String)? {
    if let data = try DataURL.text(of: bytes) { return (data, "data/") }
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw invalid("the URL contains a control character")
    }
    return try FileURL.text(of: line).map { text in
      (text, FileURL.version(in: text) == nil ? fileHost : commandFileHost)
    }
  }

  /// The scheme of an `http:` or `https:` URL, and the text between its slashes and its fragment.
  private static func parts(
    of bytes: [UInt8]
  ) throws(Failure) -> (scheme: String, rest: ArraySlice<UInt8>) {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), isScheme(bytes[..<colon]) else {
      throw invalid("the URL has no scheme; a URL begins with https:// or http://")
    }
    let scheme = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
    guard scheme == "http" || scheme == "https" else {
      throw Failure(
        stage: .queue, code: .unsupportedScheme,
        detail: "the scheme \(scheme.prefix(32)) is not supported; use http, https, data or file")
    }
    let rest = bytes[(colon + 1)...].prefix { $0 != UInt8(ascii: "#") }
    guard rest.starts(with: "//".utf8) else { throw invalid("the URL has no // after its scheme") }
    return (scheme, rest.dropFirst(2))
  }

  /// An internal URL for an uploaded picture without a URL. The parser accepts no such text.
  ///
  /// - Parameter number: unique among the uploads in progress.
  package init(uploaded number: UInt64) {
    host = "upload/"
    origin = ""
    text = "upload:\(number)"
    isLocal = true
  }

  static func tooLong(_ line: String) -> Failure {
    invalid("the URL is longer than \(maximumLength(of: line)) bytes, including its escapes")
  }

  /// - Parameter reason: a sentence.
  static func invalid(_ reason: String) -> Failure {
    Failure(stage: .queue, code: .invalidURL, detail: reason)
  }

  /// RFC 3986 section 3.1: a letter, then letters, digits, `+`, `-` and `.`.
  private static func isScheme(_ bytes: ArraySlice<UInt8>) -> Bool {
    guard let first = bytes.first, isLetter(first) else { return false }
    return bytes.allSatisfy { byte in
      isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        || [UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: ".")].contains(byte)
    }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}

/// A URL that is in its normal spelling already, as most lines of lists are: `http:` or `https:`, a host
/// name of lower-case letters, digits and `-._~`, maybe a port, and no byte that has to be escaped.
///
/// It takes one pass to recognise. ``ImageURL`` makes the same of it in several.
struct NormalURL {
  let text: String
  let host: String
  let origin: String

  private static let schemes = ["https://", "http://"]

  /// - Returns: `nil` for any other URL, valid or not.
  init?(_ text: String) {
    let bytes = text.utf8
    guard let scheme = Self.schemes.first(where: { bytes.starts(with: $0.utf8) }),
      bytes.count <= ImageURL.maximumByteCount
    else { return nil }
    let hostStart = bytes.index(bytes.startIndex, offsetBy: scheme.utf8.count)
    let hostEnd = bytes[hostStart...].firstIndex { !HostName.isAllowed($0) } ?? bytes.endIndex
    guard hostEnd > hostStart, bytes[bytes.index(before: hostEnd)] != UInt8(ascii: ".") else {
      return nil
    }
    var end = hostEnd
    if end < bytes.endIndex, bytes[end] == UInt8(ascii: ":") {
      let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
      end = bytes[bytes.index(after: end)...].firstIndex { !digits.contains($0) } ?? bytes.endIndex
    }
    guard
      end == bytes.endIndex || bytes[end] == UInt8(ascii: "/") || bytes[end] == UInt8(ascii: "?"),
      bytes[end...].allSatisfy({ PercentEncoding.isPlain($0) && $0 != UInt8(ascii: "#") })
    else { return nil }
    self.text = text
    host = String(text[hostStart..<hostEnd])
    origin = String(text[..<end])
  }
}

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

/// Completes URLs that people type in lists and on command lines.
enum WrittenURL {
  private static let marks: [(opening: String, closing: String)] = [
    ("<", ">"), ("\"", "\""), ("'", "'"), ("`", "`"), ("\u{201C}", "\u{201D}"),
    ("\u{201E}", "\u{201C}"),
    ("\u{2018}", "\u{2019}"), ("\u{AB}", "\u{BB}"),
  ]
  private static let knownSchemes = ["http", "https", "data", "file"]
  /// U+3002, U+FF0E and U+FF61 separate labels like the full stop (UTS #46 section 2.3).
  private static let dots: Set<Unicode.Scalar> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}"]

  /// Removes surrounding white space, and angle brackets or quotes (RFC 3986 appendix C). Adds
  /// `https:` to a text that begins with a host name, or with `//` and a host name.
  ///
  /// - Throws: a ``Failure`` with code `invalid_url` for a text with neither scheme nor host.
  static func completed(_ written: String) throws(Failure) -> String {
    let text = String(unwrapped(written))
    guard !text.isEmpty else { throw ImageURL.invalid("the URL is empty") }
    let isSchemeLeftOut = text.utf8.starts(with: "//".utf8)
    let name = text.utf8.dropFirst(isSchemeLeftOut ? 2 : 0)
    let front = name.prefix { !"/?#".utf8.contains($0) }
    if !isSchemeLeftOut, hasScheme(front) { return text }
    guard isHost(front, isAlone: front.count == name.count) else {
      throw ImageURL.invalid(
        "the URL has no scheme and does not begin with a host name; write "
          + "https://example.org/a.jpg, or for a file ./a.jpg in a list, or file:///srv/a.jpg")
    }
    return (isSchemeLeftOut ? "https:" : "https://") + text
  }

  private static func unwrapped(_ written: String) -> Substring {
    var text = trimmed(written[...])
    for (opening, closing) in marks where text.utf8.count > 1 && text.hasPrefix(opening) {
      // As in the source of a program.
      let element = text.hasSuffix(closing + ",") ? text.dropLast() : text
      if element.hasSuffix(closing) { text = trimmed(element.dropFirst().dropLast()) }
    }
    return text
  }

  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// - Throws: a ``Failure`` with code `invalid_url` for text behind a URL with an origin.
  static func requireNoText(behind written: String) throws(Failure) {
    let text = try completed(written)
    guard text.prefix(4).lowercased() == "http", let end = text.utf8.firstIndex(where: isSpace)
    else { return }
    throw ImageURL.invalid(
      text.utf8[end] == 0x09
        ? "there is text behind the URL (a tab); a list has one URL a line"
        : "there is text behind the URL; write a space in the URL as %20")
  }

  /// Removes white space, byte order marks and zero-width spaces, which are invisible when people
  /// copy a URL.
  private static func trimmed(_ text: Substring) -> Substring {
    let isBlank = { (scalar: Unicode.Scalar) in
      scalar.properties.isWhitespace || ["\u{FEFF}", "\u{200B}"].contains(scalar)
    }
    let scalars = text.unicodeScalars.drop(while: isBlank)
    let end = scalars.lastIndex { !isBlank($0) }.map { scalars.index(after: $0) }
    return Substring(scalars[..<(end ?? scalars.startIndex)])
  }

  /// Whether the text before the first colon is a scheme. It is a host if a port follows.
  private static func hasScheme(_ front: Substring.UTF8View) -> Bool {
    guard front.first != UInt8(ascii: "["), let colon = front.firstIndex(of: UInt8(ascii: ":"))
    else { return false }
    return knownSchemes.contains(String(decoding: front[..<colon], as: UTF8.self).lowercased())
      || !isPort(front[front.index(after: colon)...])
  }

  /// Whether the text is a host: `localhost`, a name with a dot, any name with a port, or an address
  /// in brackets. A name alone with an image extension, such as `a.jpg`, is a file. A name with a
  /// user before it is a mail address.
  private static func isHost(_ front: Substring.UTF8View, isAlone: Bool) -> Bool {
    guard front.allSatisfy({ $0 > 0x20 && $0 != 0x7F && !"@\\".utf8.contains($0) }) else {
      return false
    }
    if front.first == UInt8(ascii: "[") { return true }
    if let colon = front.firstIndex(of: UInt8(ascii: ":")) {
      return colon > front.startIndex && isPort(front[front.index(after: colon)...])
    }
    let name = String(decoding: front, as: UTF8.self)
    var labels = name.unicodeScalars.split(omittingEmptySubsequences: false) { dots.contains($0) }
    if labels.last?.isEmpty == true { labels.removeLast() }
    let isDotted = labels.count > 1 && labels.allSatisfy { !$0.isEmpty }
    return name.lowercased() == "localhost"
      || isDotted && !(isAlone && ImageFormat(extensionOf: name) != nil)
  }

  private static func isPort(_ text: Substring.UTF8View) -> Bool {
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    return text.allSatisfy(digits.contains)
      && UInt16(String(decoding: text, as: UTF8.self)).map { $0 > 0 } ?? false
  }
}

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

/// The hosts that one party is likely to have: those below one registrable domain, as far as the name tells.
///
/// These are its last two labels, or three below a country's short second level, such as `co.uk`. A list of
/// all public suffixes would tell the customers of a platform apart. It would have to be kept up to date, and
/// all that depends on it is whose transfers and loads make room first. An IPv4 address is a group by itself.
/// IPv6 addresses are one below their first 64 bits, because a link has a prefix of that length (RFC 4291
/// section 2.5.1): who has one has 2⁶⁴ addresses. A client is none: behind a proxy many have one address, and the origin is what makes a transfer slow.
package enum HostGroup {
  private static let shortLabelMaximum = 3

  /// - Parameter host: see ``ImageURL/host``.
  package static func name(of host: String) -> String {
    guard !host.hasPrefix("[") else { return network(ofLiteral: host) ?? host }
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    guard labels.count > 2, let last = labels.last, last.first?.isNumber == false else {
      return host
    }
    let isSecondLevel =
      last.count == 2 && labels[labels.count - 2].count <= shortLabelMaximum
    return labels.suffix(isSecondLevel ? 3 : 2).joined(separator: ".")
  }
  /// The first 64 bits of an IPv6 address, however it is spelled (RFC 4291 section 2.2).
  ///
  /// - Returns: `nil` if all of them are zero: what follows is an IPv4 address, or this machine.
  private static func network(ofLiteral host: String) -> String? {
    let sides: [[Substring]] = host.dropFirst().dropLast().split(
      separator: "::", maxSplits: 1, omittingEmptySubsequences: false
    ).map { side in
      // An IPv4 address at the end stands for two of the eight numbers.
      side.split(separator: ":").flatMap { $0.contains(".") ? ["0", "0"] : [$0] }
    }
    let zeros = [Substring](repeating: "0", count: max(0, 8 - sides.joined().count))
    let numbers = sides.joined(separator: zeros).prefix(4).map { UInt16($0, radix: 16) ?? 0 }
    guard numbers.contains(where: { $0 != 0 }) else { return nil }
    return "[\(numbers.map { String($0, radix: 16) }.joined(separator: ":"))::/64]"
  }
}
