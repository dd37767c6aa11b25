import ImgClient
import ImgModel
import ImgSettings

/// The value of an option as a client sent it, decoded, and read as what the option takes.
///
/// Each function throws 422 with the name of the option for another text.
struct OptionValue {
  let name: String
  let text: String

  var isEmpty: Bool { text.isEmpty }

  /// - Parameter expected: what the value may be.
  func invalid(_ expected: String) -> RequestRejection {
    .invalidOption(name, "is \(Spelling.quoted(text)); write \(expected)")
  }

  /// A whole number without a sign.
  func wholeNumber(in range: ClosedRange<Int>) throws(RequestRejection) -> Int {
    let isDigits = text.utf8.allSatisfy(\.isDigit)
    guard isDigits, let number = Int(text), range.contains(number) else {
      throw invalid("a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A decimal number without a sign and without an exponent.
  func decimal(in range: ClosedRange<Double>) throws(RequestRejection) -> Double {
    let isPlain = text.utf8.allSatisfy { byte in
      byte.isDigit || byte == UInt8(ascii: ".")
    }
    guard isPlain, let number = Double(text), range.contains(number) else {
      throw invalid("a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  /// A text that can be a part of a name in the store.
  var version: String { "\(name)=\(EscapedText.encoded(text))" }

  /// The standard deviation of a filter, in pixels.
  func sigma() throws(RequestRejection) -> Double {
    try decimal(in: Effects.sigmaRange.lowerBound.value...Effects.sigmaRange.upperBound.value)
  }

  /// A side of a box; 0 leaves it to the proportions of the picture.
  func side() throws(RequestRejection) -> Int {
    try wholeNumber(in: 0...Variant.sideRange.upperBound)
  }

  func quality() throws(RequestRejection) -> Int { try wholeNumber(in: Variant.qualityRange) }

  /// Whether an option is on.
  ///
  /// - Parameter isOn: what an empty value means.
  func flag(ifEmpty isOn: Bool) throws(RequestRejection) -> Bool {
    switch text.lowercased() {
    case "": return isOn
    case "1", "t", "true": return true
    case "0", "f", "false": return false
    default: throw invalid("1 or 0")
    }
  }

  /// A format that thumbnails have.
  func format() throws(RequestRejection) -> ImageVariant.Format {
    switch text.lowercased() {
    case "jpg", "jpeg": return .jpeg
    case "png": return .png
    case "webp": return .webp
    case "avif": return .avif
    case "gif": return .gif
    default: throw invalid("jpg, png, webp, avif or gif")
    }
  }

  /// A name for the file that a browser saves.
  func fileName() throws(RequestRejection) -> String {
    guard (1...Self.maximumFileNameByteCount).contains(text.utf8.count),
      text != ".", text != "..",
      text.unicodeScalars.allSatisfy({ scalar in
        !["/", "\\", "\"", "\u{FFFD}"].contains(scalar)
          && ![.control, .format, .lineSeparator, .paragraphSeparator]
            .contains(scalar.properties.generalCategory)
      })
    else {
      throw invalid("at most \(Self.maximumFileNameByteCount) bytes without / \\ and quotes")
    }
    return text
  }

  private static let maximumFileNameByteCount = 200
}
