/// A colour in sRGB.
package struct RGBColour: Hashable, Sendable {
  package let red: UInt8
  package let green: UInt8
  package let blue: UInt8

  package static let white = RGBColour(red: 255, green: 255, blue: 255)

  package init(red: UInt8, green: UInt8, blue: UInt8) {
    self.red = red
    self.green = green
    self.blue = blue
  }

  /// 24 bits, red uppermost.
  package var number: UInt32 { UInt32(red) << 16 | UInt32(green) << 8 | UInt32(blue) }

  /// - Returns: `nil` for a number of more than 24 bits.
  package init?(number: UInt64) {
    guard number <= 0xFF_FFFF else { return nil }
    self.init(
      red: UInt8(number >> 16), green: UInt8(number >> 8 & 0xFF), blue: UInt8(number & 0xFF))
  }
}

extension RGBColour: LosslessStringConvertible {
  /// Reads `white`, `black`, or six or three hexadecimal digits as CSS has them, with or without
  /// `#`.
  package init?(_ text: String) {
    switch text {
    case "white": self = .white
    case "black": self.init(red: 0, green: 0, blue: 0)
    default:
      var digits = text.utf8.first == UInt8(ascii: "#") ? text.dropFirst() : text[...]
      if digits.utf8.count == 3 { digits = digits.reduce(into: "") { $0 += "\($1)\($1)" } }
      guard digits.utf8.count == 6, digits.allSatisfy(\.isHexDigit),
        let number = UInt64(digits, radix: 16)
      else { return nil }
      self.init(number: number)
    }
  }

  /// As CSS has it: `#` and six hexadecimal digits.
  package var cssText: String { "#\(description)" }

  /// Six hexadecimal digits.
  package var description: String {
    String(String(0x100_0000 | number, radix: 16).dropFirst())
  }
}
