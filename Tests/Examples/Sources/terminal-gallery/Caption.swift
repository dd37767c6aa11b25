/// Text of unknown origin that is shown in a terminal.
enum Caption {
  /// Scripts whose letters are two characters wide, about, and pictures.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
    0xFF00...0xFF60, 0x1F300...0x1FAFF, 0x20000...0x3FFFF,
  ]

  /// The text in the middle of so many columns; a text that is longer is cut.
  static func centred(_ text: String, columns: Int) -> String {
    var shown = ""
    var width = 0
    for character in text {
      let next = visible(character)
      guard width + self.width(of: next) <= columns else {
        shown = String(shown.dropLast()) + "…"
        width = min(width, columns)
        break
      }
      shown.append(next)
      width += self.width(of: next)
    }
    let left = (columns - width) / 2
    return String(repeating: " ", count: left) + shown
      + String(repeating: " ", count: columns - width - left)
  }

  /// A terminal obeys control characters, which a name may have.
  private static func visible(_ character: Character) -> Character {
    let isControl = character.unicodeScalars.contains { scalar in
      [.control, .format, .lineSeparator, .paragraphSeparator]
        .contains(scalar.properties.generalCategory)
    }
    return isControl ? "?" : character
  }

  private static func width(of character: Character) -> Int {
    let first = character.unicodeScalars.first?.value ?? 0
    return wide.contains { $0.contains(first) } ? 2 : 1
  }
}
