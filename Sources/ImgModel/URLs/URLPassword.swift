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
