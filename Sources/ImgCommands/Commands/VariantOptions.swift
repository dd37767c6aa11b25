import ImgModel
import ImgSettings

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
    help: "Keep the thumbnail so long after its download; a date as of --expires-at, or \"never\", "
      + "will do too. Default: as the coordinator is set.")
  private static let expiryDate = OptionDescription(
    "--expires-at", "DATE",
    help: "Keep the thumbnail until then: 2027-01-01, which is that day's beginning in UTC, or "
      + "2027-01-01T12:00:00+02:00.")
  private static let sliding = OptionDescription(
    "--expire-on-access", help: "Count the duration anew from each access to the thumbnail.")
  private static let keep = OptionDescription(
    "--keep", "WHAT",
    help: "none, thumbnail, original (the picture as it came) or all; from an original, other "
      + "sizes are made without another fetch. Default: thumbnail.")
  private static let delay = OptionDescription(
    "--delay", "DURATION",
    help: "Wait so long before anything is looked up or fetched. Default: 0s.")

  /// Those that name a thumbnail.
  static let variantOptions = [size, mode, crop, format, quality]
  /// Those that say how it is stored, too.
  static let storeOptions = variantOptions + [keep, expiry, expiryDate, sliding]
  static let options = storeOptions + [delay]

  /// - Parameters:
  ///   - arguments: of a command that lists ``options``, or ``storeOptions`` alone.
  ///   - priority: among jobs.
  ///   - fetch: how origins are asked.
  static func request(
    in arguments: ArgumentReader, priority: Int = 0, fetch: FetchOptions = .standard
  ) throws(UsageError) -> RequestOptions {
    RequestOptions(
      variant: try variant(in: arguments),
      expiry: try expiry(in: arguments), priority: priority,
      delayMilliseconds: try arguments.lists(delay) ? delay(in: arguments) : 0,
      keep: try arguments.value(of: keep, Keep.init(parsing:)) ?? .thumbnail, fetch: fetch)
  }

  private static func delay(in arguments: ArgumentReader) throws(UsageError) -> Int64 {
    try arguments.value(of: delay) { (text) throws(InvalidValue) in
      try UnitScale.duration.value(parsing: text, in: RequestOptions.delayRangeMilliseconds)
    } ?? 0
  }

  private static func expiry(in arguments: ArgumentReader) throws(UsageError) -> Expiry {
    let after = try arguments.value(of: expiry, Expiry.Moment.init(parsing:))
    let date = try arguments.value(of: expiryDate, WallTime.init(parsing:))
    guard after == nil || date == nil else {
      throw UsageError("--expire-after and --expires-at say the same thing; give one of the two")
    }
    let moment = after ?? date.map { .at($0) } ?? .standard
    let isSliding = arguments.contains(sliding)
    if isSliding, case .at = moment {
      throw UsageError("--expire-on-access counts a duration anew, and a date is none")
    }
    return Expiry(moment, isSliding: isSliding)
  }

  /// Refuses an expiry that cannot be kept.
  ///
  /// - Parameter command: the one that read it.
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
  ///   - arguments: of a command that lists ``variantOptions``.
  ///   - destination: whose name says the format where no option does.
  static func choice(
    in arguments: ArgumentReader, for destination: PictureOutput
  ) throws(UsageError) -> VariantChoice {
    let promised = destination.format.flatMap(Variant.Format.init)
    let variant = try variant(in: arguments, otherwiseAs: promised)
    return VariantChoice(
      variant: variant,
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
