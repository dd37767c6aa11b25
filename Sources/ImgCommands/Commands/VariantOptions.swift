import ImgModel
import ImgSettings

/// The options that select the variant of a picture, its storage and its delay.
enum VariantOptions {
  private static let size = OptionDescription(
    "--size", "WxH", help: "The box in pixels; N means NxN. Default: 256x256.")
  private static let mode = OptionDescription(
    "--mode", "MODE",
    help: "fit: inside the box; fill: cover it; stretch: exactly the box. Default: fit.")
  private static let crop = OptionDescription(
    "--crop", help: "Crop to the box. Implies --mode fill.")
  private static let format = OptionDescription(
    "--format", "FORMAT",
    help: "auto, jpeg, png, webp or avif; auto is WebP for pictures with transparency, else JPEG. "
      + "Default: auto.")
  private static let quality = OptionDescription(
    "--quality", "Q", help: "The quality of the encoder, from 1 to 100. Default: 80.")
  private static let lenient = OptionDescription(
    "--lenient",
    help: "Accept a damaged JPEG, PNG, GIF, TIFF, BMP or ICO: its thumbnail shows what can be "
      + "decoded, and is marked as damaged. Default: it fails with corrupt_image.")
  private static let expiry = OptionDescription(
    "--expire-after", "DURATION",
    help: "Keep the thumbnail this long after its download. Also accepts \"never\", or a date like "
      + "--expires-at. Default: the coordinator's --default-expiry.")
  private static let expiryDate = OptionDescription(
    "--expires-at", "DATE",
    help: "Keep the thumbnail until this date: 2027-01-01 (midnight UTC) or "
      + "2027-01-01T12:00:00+02:00.")
  private static let sliding = OptionDescription(
    "--expire-on-access", help: "Restart the duration at each access to the thumbnail.")
  private static let keep = OptionDescription(
    "--keep", "WHAT",
    help: "What to store: none, thumbnail, original (the picture as received) or all. With an "
      + "original, other sizes need no further fetch. Default: thumbnail.")
  private static let delay = OptionDescription(
    "--delay", "DURATION",
    help: "Wait this long before the first look-up or fetch. Default: 0s.")

  /// The options that select a thumbnail.
  static let variantOptions = [size, mode, crop, format, quality, lenient]
  /// ``variantOptions`` and those that control storage.
  static let storeOptions = variantOptions + [keep, expiry, expiryDate, sliding]
  static let options = storeOptions + [delay]

  /// - Parameters:
  ///   - arguments: the arguments of a command that lists ``options`` or only ``storeOptions``.
  ///   - priority: the priority among jobs.
  ///   - fetch: how imgctl requests pictures from origins.
  static func request(
    in arguments: ArgumentReader, priority: Int = 0, fetch: FetchOptions = .standard
  ) throws(UsageError) -> RequestOptions {
    RequestOptions(
      variant: try variant(in: arguments), isLenient: isLenient(in: arguments),
      expiry: try expiry(in: arguments), priority: priority,
      delay: try arguments.lists(delay) ? delay(in: arguments) : .zero,
      keep: try arguments.value(of: keep, Keep.init(parsing:)) ?? .thumbnail, fetch: fetch)
  }

  private static func isLenient(in arguments: ArgumentReader) -> Bool {
    arguments.contains(lenient)
  }

  private static func delay(in arguments: ArgumentReader) throws(UsageError) -> Duration {
    try arguments.value(of: delay) { (text) throws(InvalidValue) in
      try Duration(parsing: text, in: RequestOptions.delayRange)
    } ?? .zero
  }

  private static func expiry(in arguments: ArgumentReader) throws(UsageError) -> Expiry {
    let after = try arguments.value(of: expiry, Expiry.Moment.init(parsing:))
    let date = try arguments.value(of: expiryDate, WallTime.init(parsing:))
    guard after == nil || date == nil else {
      throw UsageError("--expire-after and --expires-at exclude each other")
    }
    let moment = after ?? date.map { .at($0) } ?? .standard
    let isSliding = arguments.contains(sliding)
    if isSliding, case .at = moment {
      throw UsageError("--expire-on-access needs a duration, not a date")
    }
    return Expiry(moment, isSliding: isSliding)
  }

  /// Refuses an expiry in the past or too far ahead.
  ///
  /// - Parameter command: the command that read it.
  static func check(
    _ expiry: Expiry, at now: WallTime, of command: CommandDescription
  ) throws(UsageError) {
    do throws(InvalidValue) {
      try expiry.check(at: now)
    } catch {
      throw UsageError(command.name, error)
    }
  }

  /// - Parameters:
  ///   - arguments: the arguments of a command that lists ``variantOptions``.
  ///   - destination: its file extension selects the format if no option does.
  static func choice(
    in arguments: ArgumentReader, for destination: PictureOutput
  ) throws(UsageError) -> VariantChoice {
    let promised = destination.format.flatMap(Variant.Format.init)
    let variant = try variant(in: arguments, otherwiseAs: promised)
    return VariantChoice(
      variant: variant, isLenient: isLenient(in: arguments),
      formatSource: arguments.contains(format) ? .option : promised == nil ? .nothing : .fileName)
  }

  private static func variant(
    in arguments: ArgumentReader, otherwiseAs promised: Variant.Format? = nil
  ) throws(UsageError) -> Variant {
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
        isCropped: isCropped, format: format ?? promised ?? standard.format,
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
