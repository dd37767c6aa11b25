/// A URL that may be handed to a worker: http or https, a picture in itself (`data:`) or a file of
/// this machine (`file:`), short enough, and in one spelling.
///
/// This is the gate in front of everything, and the one place where URLs are normalised. It resolves
/// nothing and judges no address: the worker parses the text again with the parser that connects, so
/// that what is checked there is what is fetched.
package struct ImageURL: Hashable, Sendable {
  /// The URL in the one spelling that is fetched, hashed and compared, all of it ASCII unless it is
  /// a `data:` URL or names a file: scheme and host in lower case (RFC 3986 section 6.2.2.1), the
  /// host as ``HostName`` writes it (RFC 3987 section 3.1, RFC 5891), escapes for what no URI holds
  /// (``PercentEncoding/completed(_:)``), and no fragment, which never reaches a server (RFC 3986
  /// section 3.5).
  package let text: String

  /// The host in lower case, without its port and without the dot that may end a full name: whose
  /// limits and politeness apply. One machine that listens on several ports is still one machine;
  /// several names of one machine count as several, because nobody knows before they are looked up.
  /// A picture that comes from no origin has in place of a host what no host's name can be: it
  /// holds a slash.
  package let host: String

  /// Scheme, host and port, the latter as the URL writes it: whose robots.txt holds for it. Empty for a picture
  /// that comes from no origin.
  package let origin: String

  /// Whether the picture comes from no origin: there is nothing to fetch, so that no limit of
  /// transfers concerns it and no original of it is kept.
  package let isLocal: Bool

  /// Whether it names a file, which may change without the store hearing of it.
  package var isFile: Bool { host == Self.fileHost }

  private static let fileHost = "file/"

  /// The longest URL taken, in bytes of UTF-8. Servers commonly refuse request lines over 8 KiB
  /// (RFC 9112 section 3 recommends to support at least 8,000).
  package static let maximumByteCount = 8_192

  /// Reads a URL as people write it down: one line of a list, or an argument of a command, see
  /// ``WrittenURL``.
  ///
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url` or `unsupported_scheme`.
  package init(line: String) throws(Failure) {
    // Before anything looks at all of it.
    guard line.utf8.count <= Self.maximumByteCount else { throw Self.tooLong }
    try self.init(parsing: try WrittenURL.completed(line))
  }

  /// Reads a URL that begins with its scheme.
  ///
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url` or `unsupported_scheme`.
  package init(parsing line: String) throws(Failure) {
    let bytes = Array(line.utf8)
    guard bytes.count <= Self.maximumByteCount else { throw Self.tooLong }
    // Bytes that are not UTF-8 arrive as U+FFFD, which no valid URL contains.
    guard !line.unicodeScalars.contains("\u{FFFD}") else { throw Self.invalid("not valid UTF-8") }
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
    // Escapes are longer than what they stand for.
    guard text.utf8.count <= Self.maximumByteCount else { throw Self.tooLong }
  }

  /// The spelling of a URL that is of no origin, and what stands for its host; `nil` for any other.
  private static func local(
    _ line: String, _ bytes: [UInt8]
  ) throws(Failure) -> (text: String, host: String)? {
    if let data = try DataURL.text(of: bytes) { return (data, "data/") }
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw invalid("holds a control character")
    }
    return try FileURL.text(of: line).map { ($0, fileHost) }
  }

  /// The scheme of an http URL, and what follows its slashes up to the fragment.
  private static func parts(
    of bytes: [UInt8]
  ) throws(Failure) -> (scheme: String, rest: ArraySlice<UInt8>) {
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), isScheme(bytes[..<colon]) else {
      throw invalid("has no scheme; a URL begins with https:// or http://")
    }
    let scheme = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
    guard scheme == "http" || scheme == "https" else {
      throw Failure(
        stage: .queue, code: .unsupportedScheme,
        detail: "\(scheme.prefix(32)): is not fetched; http, https, data and file are")
    }
    let rest = bytes[(colon + 1)...].prefix { $0 != UInt8(ascii: "#") }
    guard rest.starts(with: "//".utf8) else { throw invalid("lacks // after the scheme") }
    return (scheme, rest.dropFirst(2))
  }

  /// Stands for a picture that somebody uploads, as one that no line names.
  ///
  /// - Parameter number: tells it from others that are there at the same time.
  package init(uploaded number: UInt64) {
    host = "handed-in/"
    origin = ""
    text = "handed-in:\(number)"
    isLocal = true
  }

  private static var tooLong: Failure {
    invalid("longer than \(maximumByteCount) bytes, counted with its escapes")
  }

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
