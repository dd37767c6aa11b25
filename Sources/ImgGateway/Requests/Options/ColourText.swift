import ImgClient
import ImgModel

/// A colour as weserv and imgproxy write it.
enum ColourText {
  /// Reads a name of CSS, three or six hexadecimal digits with or without `#`, and weserv's four or eight
  /// digits, whose first part is the opacity.
  ///
  /// - Throws: 422 for another text, and for a colour that lets something through.
  static func colour(_ value: OptionValue) throws(RequestRejection) -> ImageVariant.Colour {
    let text = value.text.lowercased()
    if let number = CSSColourName.numbers[text], let named = RGBColour(number: UInt64(number)) {
      return ImageVariant.Colour(named)
    }
    let digits = text.hasPrefix("#") ? text.dropFirst() : text[...]
    let opacityCount = digits.utf8.count == 8 ? 2 : digits.utf8.count == 4 ? 1 : 0
    let isOpaque = digits.utf8.prefix(opacityCount).allSatisfy { $0 == UInt8(ascii: "f") }
    guard isOpaque, let colour = RGBColour(String(digits.dropFirst(opacityCount))) else {
      throw value.invalid("an opaque colour: a name of CSS, or 3 or 6 hexadecimal digits")
    }
    return ImageVariant.Colour(colour)
  }
}

extension ImageVariant.Colour {
  fileprivate init(_ colour: RGBColour) {
    self.init(red: colour.red, green: colour.green, blue: colour.blue)
  }
}
