extension String {
  /// The text on one line that a terminal shows as it is: U+FFFD takes the place of each
  /// character that is not ``Unicode/Scalar/isPrintable``.
  package var printable: String {
    guard unicodeScalars.contains(where: { !$0.isPrintable }) else { return self }
    return String(UnicodeScalarView(unicodeScalars.map { $0.isPrintable ? $0 : "\u{FFFD}" }))
  }

  /// The same for a text of several lines, whose line feeds stay.
  package var printableLines: String {
    unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
      .map { String($0).printable }.joined(separator: "\n")
  }

  /// JSON with escapes (RFC 8259 section 7) in place of the characters that a terminal would obey. Programs
  /// read the same text.
  ///
  /// - Precondition: the text is JSON on one line, whose encoder has escaped the characters below U+0020.
  package var escapedForTerminals: String {
    guard unicodeScalars.contains(where: { !$0.isPrintable }) else { return self }
    var escaped = UnicodeScalarView()
    for scalar in unicodeScalars {
      if scalar.isPrintable {
        escaped.append(scalar)
      } else {
        let digits = String(scalar.value, radix: 16)
        escaped.append(
          contentsOf: "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)"
            .unicodeScalars)
      }
    }
    return String(escaped)
  }
}

extension Unicode.Scalar {
  /// Whether a terminal shows the character and does nothing else. It obeys control characters (C0, DEL and
  /// C1; ECMA-48). Line and paragraph separators break a line. Bidirectional controls reorder what stands
  /// beside them (Unicode Standard Annex 9, section 2), so that a text reads as another one.
  package var isPrintable: Bool {
    switch value {
    case 0x20...0x7E: true
    case 0x00...0x1F, 0x7F...0x9F, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: false
    default: true
    }
  }
}
