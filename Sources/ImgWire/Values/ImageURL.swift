/// A URL that may be handed to a worker: http or https, a picture in itself (`data:`) or a file of
/// this machine (`file:`), short enough, and free of what no URL holds.
///
/// This is the cheap gate in front of everything. It does not resolve or interpret the authority:
/// the worker parses the text again with the parser that connects, so that what is checked there is
/// what is fetched.
package struct ImageURL: Hashable, Sendable {
  /// The URL in the one spelling that is fetched, hashed and compared: scheme and host in lower
  /// case, no fragment (RFC 3986 section 6.2.2.1; a fragment never reaches a server, section 3.5).
  package let text: String

  /// The host in lower case, without its port and without the dot that may end a full name: whose
  /// limits and politeness apply. One machine that listens on several ports is still one machine;
  /// several names of one machine count as several, because nobody knows before they are looked up.
  /// A picture that comes from no origin has in place of a host what no host's name can be: it
  /// holds a slash.
  package let host: String

  /// Scheme, host and port as the URL writes them: whose robots.txt holds for it. Empty for a picture
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

  /// Reads one line of a list.
  ///
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url` or `unsupported_scheme`.
  package init(parsing line: String) throws(Failure) {
    let bytes = Array(line.utf8)
    guard bytes.count <= Self.maximumByteCount else {
      throw Self.invalid("longer than \(Self.maximumByteCount) bytes")
    }
    // Bytes that are not UTF-8 arrive as U+FFFD, which no valid URL contains.
    guard !line.unicodeScalars.contains("\u{FFFD}") else { throw Self.invalid("not valid UTF-8") }
    if let data = try DataURL.text(of: bytes) {
      // Blanks are longer as they are written.
      guard data.utf8.count <= Self.maximumByteCount else {
        throw Self.invalid("longer than \(Self.maximumByteCount) bytes, with its blanks as %20")
      }
      text = data
      host = "data/"
      origin = ""
      isLocal = true
      return
    }
    guard bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw Self.invalid("holds a space or a control character")
    }
    if let file = try FileURL.text(of: line) {
      text = file
      host = Self.fileHost
      origin = ""
      isLocal = true
      return
    }
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), Self.isScheme(bytes[..<colon]) else {
      throw Self.invalid("has no scheme; a URL begins with https:// or http://")
    }
    let scheme = String(decoding: bytes[..<colon], as: UTF8.self).lowercased()
    guard scheme == "http" || scheme == "https" else {
      throw Failure(
        stage: .queue, code: .unsupportedScheme,
        detail: "\(scheme.prefix(32)): is not fetched; http, https, data and file are")
    }
    let rest = bytes[(colon + 1)...].prefix { $0 != UInt8(ascii: "#") }
    guard rest.starts(with: [UInt8(ascii: "/"), UInt8(ascii: "/")]) else {
      throw Self.invalid("lacks // after the scheme")
    }
    let afterSlashes = rest.dropFirst(2)
    let authorityEnd =
      afterSlashes.firstIndex { [UInt8(ascii: "/"), UInt8(ascii: "?")].contains($0) }
      ?? afterSlashes.endIndex
    let userAndHost = afterSlashes[..<authorityEnd]
    let hostStart =
      userAndHost.lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? userAndHost.startIndex
    let hostAndPort = String(decoding: userAndHost[hostStart...], as: UTF8.self).lowercased()
    host = Self.host(in: hostAndPort)
    origin = "\(scheme)://\(hostAndPort)"
    guard !host.isEmpty else { throw Self.invalid("names no host") }
    isLocal = false
    text =
      "\(scheme)://" + String(decoding: userAndHost[..<hostStart], as: UTF8.self) + hostAndPort
      + String(decoding: afterSlashes[authorityEnd...], as: UTF8.self)
  }

  /// Stands for a picture that somebody hands in, as one that no line names.
  ///
  /// - Parameter number: tells it from others that are there at the same time.
  package init(handedIn number: UInt64) {
    host = "handed-in/"
    origin = ""
    text = "handed-in:\(number)"
    isLocal = true
  }

  /// What stands before the port (RFC 3986 section 3.2.3), without the dot of a full name.
  private static func host(in hostAndPort: String) -> String {
    let hostEnd = hostAndPort.hasPrefix("[") ? hostAndPort.firstIndex(of: "]") : nil
    let port = hostAndPort[(hostEnd ?? hostAndPort.startIndex)...].lastIndex(of: ":")
    let host = hostAndPort[..<(port ?? hostAndPort.endIndex)]
    return String(host.hasSuffix(".") ? host.dropLast() : host)
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
