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
  /// - There is no fragment, because servers never see it (RFC 3986 section 3.5).
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

  /// Whether this is a `file:` URL. The file may change while its thumbnail is in the store.
  package var isFile: Bool { host == Self.fileHost }

  /// Whether the URL of an origin holds user information.
  package var hasUser: Bool { !text.hasPrefix(origin) }

  private static let fileHost = "file/"

  /// The maximum length of a URL, in bytes of UTF-8. Many servers refuse request lines over 8 KiB
  /// (RFC 9112 section 3 recommends support for at least 8,000 bytes).
  package static let maximumByteCount = 8_192

  /// Parses a URL as people type it, in a list or on a command line; see ``WrittenURL``.
  ///
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url` or `unsupported_scheme`.
  package init(line: String) throws(Failure) {
    // Checked first, so that a huge line costs nothing more.
    guard line.utf8.count <= Self.maximumByteCount else { throw Self.tooLong }
    if let url = NormalURL(line) {
      self.init(url)
    } else {
      try self.init(normalising: try WrittenURL.completed(line))
    }
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
    let bytes = Array(line.utf8)
    guard bytes.count <= Self.maximumByteCount else { throw Self.tooLong }
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
    guard text.utf8.count <= Self.maximumByteCount else { throw Self.tooLong }
  }

  /// The text and the host of a `data:` or `file:` URL; `nil` for any other URL.
  private static func local(
    _ line: String, _ bytes: [UInt8]
  ) throws(Failure) -> (text: String, host: String)? {
    if let data = try DataURL.text(of: bytes) { return (data, "data/") }
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw invalid("the URL contains a control character")
    }
    return try FileURL.text(of: line).map { ($0, fileHost) }
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

  static var tooLong: Failure {
    invalid("the URL is longer than \(maximumByteCount) bytes, including its escapes")
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
