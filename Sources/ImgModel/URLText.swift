internal import FoundationEssentials

/// Escapes in URLs (RFC 3986 section 2.1).
package enum PercentEncoding {
  /// Decodes the escapes of a part of a URL. A percent sign that does not begin an escape is kept
  /// (WHATWG URL Standard, section 1.3).
  package static func decoded(_ text: some Collection<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var rest = text[...]
    while let byte = rest.popFirst() {
      if byte == percent, let high = rest.first.flatMap(hexadecimalValue),
        let low = rest.dropFirst().first.flatMap(hexadecimalValue)
      {
        bytes.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return bytes
  }

  /// Escapes the bytes of a text that the closure selects.
  static func encoded(_ text: String, where isEscaped: (UInt8) -> Bool) -> String {
    let bytes = text.utf8.flatMap { isEscaped($0) ? escape(for: $0) : [$0] }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Escapes the bytes of a part of a URL that URIs do not allow: bytes that are not ASCII, spaces,
  /// and the other characters in RFC 3987 section 3.1. A percent sign that does not begin an escape
  /// becomes `%25`, because servers refuse it.
  ///
  /// Existing escapes do not change, not even their case or those that are unnecessary, because a
  /// server may have signed the URL.
  static func completed(_ part: ArraySlice<UInt8>) -> String {
    if part.allSatisfy(isPlain) { return String(decoding: part, as: UTF8.self) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(part.count)
    for (index, byte) in zip(part.indices, part) {
      let isAllowed =
        byte == percent
        ? part[(index + 1)...].prefix(2).count { hexadecimalValue($0) != nil } == 2
        : isPlain(byte)
      if isAllowed { bytes.append(byte) } else { bytes += escape(for: byte) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether URIs allow the byte as it is, wherever it stands after the authority of a URL.
  static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\""), percent, UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
      UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"),
      UInt8(ascii: "}"):
      false
    default: (0x21...0x7E).contains(byte)
    }
  }

  private static let percent = UInt8(ascii: "%")

  private static let digits = Array("0123456789ABCDEF".utf8)

  private static func escape(for byte: UInt8) -> [UInt8] {
    [percent, digits[Int(byte >> 4)], digits[Int(byte & 0xF)]]
  }

  private static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
    Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init)
  }
}

extension String {
  /// The text with `***` in place of each password in a URL (RFC 3986 section 3.2.1). All texts for
  /// people use it: output, messages, logs, manifests. Requests and store keys use the URL with its
  /// password. A word such as `user:password@host` counts as a URL without a scheme.
  package var withoutPasswords: String {
    let bytes = Array(utf8)
    var shown: [UInt8] = []
    var next = 0
    for password in URLPassword.ranges(in: bytes) {
      shown += bytes[next..<password.lowerBound] + Array("***".utf8)
      next = password.upperBound
    }
    return next == 0 ? self : String(decoding: shown + bytes[next...], as: UTF8.self)
  }
}

private enum URLPassword {
  private static let colon = UInt8(ascii: ":")
  private static let at = UInt8(ascii: "@")

  /// The ranges of the passwords in all URLs of a text, in order.
  static func ranges(in bytes: [UInt8]) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    var next = 0
    while let start = authorityStart(in: bytes, from: next) {
      let password = range(in: bytes, authority: start)
      if let password { ranges.append(password) }
      next = password?.upperBound ?? start
    }
    let words = bytes.split { $0 <= 0x20 }.filter { authorityStart(in: Array($0), from: 0) == nil }
    return (ranges + words.compactMap { range(inWordWithoutScheme: $0) })
      .sorted { $0.lowerBound < $1.lowerBound }
  }

  /// The password in a word such as `user:password@host/path`. A mail address has none.
  private static func range(inWordWithoutScheme word: ArraySlice<UInt8>) -> Range<Int>? {
    let authority = word.drop { "/\"'(<".utf8.contains($0) }.prefix { !"/?#".utf8.contains($0) }
    guard let end = authority.lastIndex(of: at), let colon = authority.firstIndex(of: colon),
      colon + 1 < end, !authority.starts(with: "mailto:".utf8)
    else { return nil }
    return (colon + 1)..<end
  }

  /// The position after the next `://`.
  private static func authorityStart(in bytes: [UInt8], from start: Int) -> Int? {
    guard start + 3 <= bytes.count else { return nil }
    return (start...(bytes.count - 3)).first {
      bytes[$0] == colon && bytes[$0 + 1] == UInt8(ascii: "/")
        && bytes[$0 + 2] == UInt8(ascii: "/")
    }.map { $0 + 3 }
  }

  private static func range(in bytes: [UInt8], authority start: Int) -> Range<Int>? {
    let word = bytes[start...].prefix { $0 > 0x20 }
    let authority = word.prefix { !"/?#".utf8.contains($0) }
    // A slash in the password ended the authority if there is no `@` and no valid port before it.
    let isPasswordCut = !authority.contains(at) && !hasPort(authority)
    guard let end = (isPasswordCut ? word : authority).lastIndex(of: at),
      let passwordColon = authority[..<min(end, authority.endIndex)].firstIndex(of: colon),
      passwordColon + 1 < end
    else { return nil }
    return (passwordColon + 1)..<end
  }

  /// Whether the text after the last colon can be a port. Also `true` if there is no colon, or the
  /// colon belongs to an IPv6 address.
  private static func hasPort(_ authority: ArraySlice<UInt8>) -> Bool {
    guard let last = authority.lastIndex(of: colon), authority.first != UInt8(ascii: "[") else {
      return true
    }
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    return authority[(last + 1)...].allSatisfy { digits.contains($0) }
  }
}

extension BidirectionalCollection<UInt8> {
  /// The bytes without leading and trailing spaces and tabs.
  @inlinable
  package var withoutOuterWhiteSpace: SubSequence {
    let isWhiteSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    let start = drop(while: isWhiteSpace)
    return start.lastIndex { !isWhiteSpace($0) }.map { start[...$0] } ?? start
  }
}

/// A URL that contains its picture: `data:image/png;base64,iVBOR…` (RFC 2397). The media type is
/// ignored: the decoder detects the format from the bytes.
package enum DataURL {
  /// The maximum size of the picture in one URL. More would make lists and messages large; a larger picture
  /// is given as a file.
  package static let maximumByteCount = 32 << 10

  private static let scheme = "data:"
  private static let comma = UInt8(ascii: ",")
  private static let space = UInt8(ascii: " ")
  private static let padding = UInt8(ascii: "=")

  /// The bytes of the picture.
  ///
  /// The data is percent-decoded, and then base64-decoded if the URL says `;base64`.
  ///
  /// - Returns: `nil` for a URL of another scheme.
  /// - Throws: a ``Failure`` of stage `fetch` with code `invalid_url` if the base64 is invalid.
  package static func contents(of url: ImageURL) throws(Failure) -> [UInt8]? {
    guard url.text.hasPrefix(scheme) else { return nil }
    guard let contents = contents(ofText: Array(url.text.utf8)) else {
      throw Failure(
        stage: .fetch, code: .invalidURL, detail: "the data: URL contains invalid base64")
    }
    return contents
  }

  /// The same for the text of a URL that was not checked, such as one inside an SVG.
  ///
  /// - Returns: `nil` for a URL of another scheme, without a comma or with invalid base64.
  package static func contents(ofText text: [UInt8]) -> [UInt8]? {
    guard text.starts(with: scheme.utf8), let end = text.firstIndex(of: comma) else { return nil }
    let data = PercentEncoding.decoded(text[(end + 1)...])
    return isBase64(text[..<end]) ? base64Decoded(data) : data
  }

  /// The normalised spelling of a `data:` URL: the scheme in lower case and no fragment. Spaces in
  /// text are escaped; all other spaces are removed.
  ///
  /// - Returns: `nil` for a line of another scheme.
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url`.
  static func text(of line: [UInt8]) throws(Failure) -> String? {
    guard isWritten(in: line) else { return nil }
    // URL parsers drop these three anywhere in a URL (WHATWG URL Standard, section 4.4).
    let rest = line[scheme.utf8.count...].filter { !"\t\n\r".utf8.contains($0) }
      .prefix { $0 != UInt8(ascii: "#") }
    guard rest.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
      throw ImageURL.invalid("the URL contains a control character")
    }
    guard let end = rest.firstIndex(of: comma) else {
      throw ImageURL.invalid("the data: URL has no comma before its data")
    }
    let type = rest[..<end].filter { $0 != space }
    let data = rest[end...]
    let written =
      isBase64(type[...])
      ? data.filter { $0 != space } : data.flatMap { $0 == space ? Array("%20".utf8) : [$0] }
    let text = Array(scheme.utf8) + type + written
    // Invalid base64 is a failure of the fetch.
    guard contents(ofText: text).map({ $0.count <= maximumByteCount }) ?? true else {
      throw ImageURL.invalid(
        "the data: URL holds more than \(maximumByteCount >> 10) KiB; give such a picture as a file"
      )
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Whether a line begins like a `data:` URL, in upper or lower case.
  static func isWritten(in line: some StringProtocol) -> Bool { isWritten(in: line.utf8) }

  private static func isWritten(in line: some Collection<UInt8>) -> Bool {
    String(decoding: line.prefix(scheme.utf8.count), as: UTF8.self).lowercased() == scheme
  }

  private static func isBase64(_ type: ArraySlice<UInt8>) -> Bool {
    String(decoding: type.suffix(7), as: UTF8.self).lowercased() == ";base64"
  }

  /// Forgiving-base64 (WHATWG Infra Standard, section 7): white space is ignored, and the padding
  /// may be missing.
  ///
  /// - Returns: `nil` for an invalid character or length.
  private static func base64Decoded(_ text: [UInt8]) -> [UInt8]? {
    var digits = text.filter { !" \t\n\r\u{C}".utf8.contains($0) }
    if digits.count.isMultiple(of: 4) {
      for _ in 0..<2 where digits.last == padding { digits.removeLast() }
    }
    // Foundation requires padding and accepts too much of it: it decodes `====` as a zero byte.
    guard digits.count % 4 != 1, !digits.contains(padding) else { return nil }
    while !digits.count.isMultiple(of: 4) { digits.append(padding) }
    return Data(base64Encoded: Data(digits)).map { Array($0) }
  }
}

/// A URL of a file on this machine: `file:///srv/pictures/a.jpg` (RFC 8089).
package enum FileURL {
  private static let scheme = "file:"

  /// The absolute path in a URL of one of the forms of RFC 8089 section 2: `file:/path`,
  /// `file:///path` or `file://localhost/path`.
  ///
  /// - Returns: `nil` for a URL of another scheme.
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url`.
  package static func path(of text: String) throws(Failure) -> String? {
    let prefix = text.utf8.prefix(scheme.utf8.count)
    guard String(decoding: prefix, as: UTF8.self).lowercased() == scheme else { return nil }
    var rest = text.utf8[prefix.endIndex...].prefix { $0 != UInt8(ascii: "#") }
    if rest.starts(with: "//".utf8) {
      let authority = rest.dropFirst(2).prefix { $0 != UInt8(ascii: "/") }
      let host = String(decoding: authority, as: UTF8.self)
      guard ["", "localhost"].contains(host.lowercased()) else {
        throw ImageURL.invalid("a file: URL must name a file on this machine, not on \(host)")
      }
      rest = rest[authority.endIndex...]
    }
    guard !rest.contains(UInt8(ascii: "?")) else {
      throw ImageURL.invalid("a file: URL must not have a query; write a question mark as %3F")
    }
    let bytes = PercentEncoding.decoded(rest)
    // open(2) would end the path at a zero byte.
    guard bytes.first == UInt8(ascii: "/"), !bytes.contains(0) else {
      throw ImageURL.invalid("a file: URL must have an absolute path, as in file:///srv/a.jpg")
    }
    guard let path = String(validating: bytes, as: UTF8.self) else {
      throw ImageURL.invalid("the path of a file: URL must be UTF-8")
    }
    return path
  }

  /// - Throws: a ``Failure`` with code `invalid_url` for a `file:` URL with a fragment, which people take for a part
  ///   of the name.
  static func requireNoFragment(_ line: String) throws(Failure) {
    guard try path(of: line) != nil, line.utf8.contains(UInt8(ascii: "#")), version(in: line) == nil
    else { return }
    throw ImageURL.invalid(
      "# begins a fragment in a file: URL; write %23, or the path without file://")
  }

  /// The normalised spelling of a `file:` URL.
  ///
  /// - Returns: `nil` for a line of another scheme.
  /// - Throws: a ``Failure`` of stage `queue` with code `invalid_url`. A path with `.` or `..`
  ///   segments is invalid too: no legitimate URL needs them.
  static func text(of line: String) throws(Failure) -> String? {
    guard let path = try path(of: line) else { return nil }
    guard !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else {
      throw ImageURL.invalid("the path of a file: URL must not have . or .. segments")
    }
    let text =
      "\(scheme)//"
      + PercentEncoding.encoded(path) { $0 <= 0x20 || $0 == 0x7F || "%?#".utf8.contains($0) }
      + (version(in: line).map { "#\($0)" } ?? "")
    guard text.utf8.count <= ImageURL.maximumByteCount else {
      throw ImageURL.tooLong(text)
    }
    return text
  }

  /// What the fragment of a URL begins with that names a file for the command that submits it.
  private static let versionMark = "imgctl-"

  /// The URL of a file that the command reads which submits it. It names the file in its present state: once the
  /// file has changed, its URL is another one, so that a stored thumbnail is never that of an older file.
  ///
  /// - Parameters:
  ///   - path: absolute. A name that is not UTF-8 makes a URL that is invalid.
  ///   - state: numbers that differ once the file has changed.
  package static func text(ofPath path: [UInt8], state: [Int64]) -> String {
    let isText = String(validating: path, as: UTF8.self) != nil
    let escaped = path.flatMap { byte -> [UInt8] in
      let isEscaped =
        byte <= 0x20 || byte == 0x7F || "%?#".utf8.contains(byte) || !isText && byte > 0x7F
      guard isEscaped else { return [byte] }
      let digits = String(byte, radix: 16, uppercase: true)
      return Array("%\(byte < 0x10 ? "0" : "")\(digits)".utf8)
    }
    let numbers = state.map(String.init).joined(separator: "-")
    return "\(scheme)//\(String(decoding: escaped, as: UTF8.self))#\(versionMark)\(numbers)"
  }

  /// The fragment of a URL that ``text(ofPath:state:)`` has made; `nil` of any other.
  static func version(in line: String) -> Substring? {
    guard let mark = line.utf8.firstIndex(of: UInt8(ascii: "#")) else { return nil }
    let fragment = line[line.utf8.index(after: mark)...]
    guard fragment.hasPrefix(versionMark), fragment.utf8.count <= 100,
      fragment.utf8.dropFirst(versionMark.utf8.count).allSatisfy({ byte in
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
      })
    else { return nil }
    return fragment
  }

  /// The same URL for a worker, which reads it below the permitted directories alone. A list cannot name a file for
  /// the command by such a URL.
  package static func withoutVersion(_ line: String) -> String {
    guard line.utf8.count > scheme.utf8.count, (try? path(of: line)) != nil,
      let version = version(in: line)
    else { return line }
    return String(line[..<version.startIndex].dropLast())
  }
}

extension UInt8 {
  /// Whether it is an ASCII letter or digit.
  package var isASCIIAlphanumeric: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }

  /// Whether it stands for itself wherever it is in a URL (RFC 3986 section 2.3), and in an extended value of a
  /// header field (RFC 8187 section 3.2.1).
  package var isUnreserved: Bool { isASCIIAlphanumeric || "-._~".utf8.contains(self) }
}
