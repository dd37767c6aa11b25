import ImgSettings
import ImgWire

/// The options that say what is to be made of a picture, and when.
enum VariantOptions {
  private static let size = OptionDescription(
    "--size", "WxH", help: "The box in pixels; one number N is NxN. Default: 256x256.")
  private static let mode = OptionDescription(
    "--mode", "MODE",
    help: "fit: inside the box; fill: cover it; stretch: exactly the box. Default: fit.")
  private static let crop = OptionDescription(
    "--crop", help: "Cut off what sticks out of the box; goes with fill, and implies it.")
  private static let format = OptionDescription(
    "--format", "FORMAT",
    help: "auto, jpeg, png, webp or avif; auto is JPEG, or WebP where there is transparency. "
      + "Default: auto.")
  private static let quality = OptionDescription(
    "--quality", "Q", help: "Of the encoder, from 1 to 100. Default: 80.")
  private static let expiry = OptionDescription(
    "--expire-after", "DURATION",
    help: "Keep the thumbnail so long after its download. Default: as the coordinator is set.")
  private static let delay = OptionDescription(
    "--delay", "DURATION",
    help: "Wait so long before anything is looked up or fetched. Default: 0s.")

  static let options = [size, mode, crop, format, quality, expiry, delay]

  /// - Parameters:
  ///   - arguments: of a command that lists ``options``.
  ///   - priority: among jobs.
  static func request(
    in arguments: ArgumentReader, priority: Int = 0
  ) throws(UsageError) -> RequestOptions {
    RequestOptions(
      variant: try variant(in: arguments),
      expireAfterMilliseconds: try arguments.value(of: expiry) { (text) throws(InvalidValue) in
        try UnitScale.duration.value(parsing: text, in: Settings.durationRangeMilliseconds)
      },
      priority: priority,
      delayMilliseconds: try arguments.value(of: delay) { (text) throws(InvalidValue) in
        try UnitScale.duration.value(parsing: text, in: RequestOptions.delayRangeMilliseconds)
      } ?? 0)
  }

  private static func variant(in arguments: ArgumentReader) throws(UsageError) -> Variant {
    let standard = Variant.standard
    let box = try arguments.value(of: size, box) ?? (standard.width, standard.height)
    let isCropped = arguments.contains(crop)
    let mode = try arguments.value(of: mode, Variant.Mode.init(parsing:))
    let format = try arguments.value(of: format, Variant.Format.init(parsing:))
    let quality = try arguments.value(of: quality) { (text) throws(InvalidValue) in
      try number(text, in: Variant.qualityRange)
    }
    do {
      return try Variant(
        width: box.0, height: box.1, mode: mode ?? (isCropped ? .fill : standard.mode),
        isCropped: isCropped, format: format ?? standard.format,
        quality: quality ?? standard.quality)
    } catch {
      throw UsageError("\(error)")
    }
  }

  /// Reads `640x480`, or `256` for a square.
  private static func box(_ text: String) throws(InvalidValue) -> (Int, Int) {
    let sides = text.split(separator: "x", omittingEmptySubsequences: false).map(String.init)
    guard sides.count <= 2, !sides.contains("") else {
      throw InvalidValue("\(Spelling.quoted(text)) is not a box; write WxH, such as 640x480")
    }
    let width = try number(sides[0], in: Variant.sideRange)
    return (width, sides.count == 2 ? try number(sides[1], in: Variant.sideRange) : width)
  }

  private static func number(_ text: String, in range: ClosedRange<Int>) throws(InvalidValue) -> Int
  {
    let range = Int64(range.lowerBound)...Int64(range.upperBound)
    return Int(try UnitScale.count.value(parsing: text, in: range))
  }
}
