import ImgModel
import ImgSettings

/// The options that change the pixels of a thumbnail.
enum EffectOptions {
  private static let grayscale = OptionDescription("--grayscale", help: "Without colours.")
  private static let blur = OptionDescription(
    "--blur", "SIGMA", help: "Blur, with this standard deviation in pixels of the thumbnail.")
  private static let sharpen = OptionDescription(
    "--sharpen", "SIGMA", help: "Sharpen edges that are about so many pixels wide, such as 0.5.")
  private static let radius = OptionDescription(
    "--radius", "N",
    help: "Round the corners with this radius in pixels; more than half the box makes a circle of "
      + "a square.")
  private static let background = OptionDescription(
    "--background", "COLOUR",
    help: "Put this colour behind transparent pixels: white, black, or digits such as ff8800. "
      + "Default: they stay transparent, and are white in JPEG.")

  static let options = [grayscale, blur, sharpen, radius, background]

  /// - Parameters:
  ///   - arguments: the arguments of a command that lists ``options``.
  ///   - ratio: lengths are multiplied by it.
  static func effects(
    in arguments: ArgumentReader, _ ratio: PixelRatio
  ) throws(UsageError) -> Effects {
    Effects(
      isGrayscale: arguments.contains(grayscale),
      blur: ratio.scaling(try arguments.value(of: blur, sigma) ?? .zero),
      sharpen: ratio.scaling(try arguments.value(of: sharpen, sigma) ?? .zero),
      radius: ratio.scaling(
        try arguments.value(of: radius) { (text) throws(InvalidValue) in
          try Int(parsing: text, in: Effects.radiusRange)
        } ?? 0),
      background: try arguments.value(of: background, RGBColour.init(parsing:)))
  }

  private static func sigma(_ text: String) throws(InvalidValue) -> Thousandths {
    try Thousandths(parsing: text, in: Effects.sigmaRange)
  }
}

extension RGBColour {
  fileprivate init(parsing text: String) throws(InvalidValue) {
    guard let colour = RGBColour(text) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a colour; write white, black, or digits such as ff8800")
    }
    self = colour
  }
}

extension Thousandths {
  /// Reads a decimal number.
  init(parsing text: String, in range: ClosedRange<Thousandths>) throws(InvalidValue) {
    guard let number = Thousandths(text), range.contains(number) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a number from \(range.lowerBound) to \(range.upperBound) "
          + "with up to three decimals")
    }
    self = number
  }
}
