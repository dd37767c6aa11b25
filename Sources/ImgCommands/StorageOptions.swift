import ImgClient
import ImgModel
import ImgSettings

/// The options that say what the store keeps of a picture and for how long, and when it is fetched.
enum StorageOptions {
  private static let expiry = OptionDescription(
    "--expire-after", "DURATION",
    help: "Keep the thumbnail this long after its download. Also accepts \"never\", or a date like "
      + "--expires-at. A full store evicts it earlier, unless it is pinned. Default: the coordinator's --default-expiry."
  )
  private static let expiryDate = OptionDescription(
    "--expires-at", "DATE",
    help: "Keep the thumbnail until this date: 2027-01-01 (midnight UTC) or "
      + "2027-01-01T12:00:00+02:00.")
  private static let sliding = OptionDescription(
    "--expire-on-access", help: "Restart the duration at each access to the thumbnail.")
  private static let keep = OptionDescription(
    "--keep", "WHAT",
    help:
      "What to store: none, thumbnail, original (the picture as received), all, or auto: the thumbnail and, "
      + "for a while, an original that is not large (--keep-auto-size). With an original, another size later "
      + "needs no fetch; without one, it fetches again. Default: thumbnail; of get, auto.")
  private static let decode = OptionDescription(
    "--decode", "WHEN",
    help:
      "eager: at once. lazy: store the original after a check of its header alone, and decode it when a "
      + "thumbnail is asked for; --keep is original then, and no option of thumbnails goes with it. "
      + "Default: eager.")
  private static let delay = OptionDescription(
    "--delay", "DURATION",
    help: "Wait this long before the first look-up or fetch. Default: 0s.")

  /// The options of the variant and of its storage.
  static let storeOptions = VariantOptions.options + expiryOptions
  static let options = storeOptions + [delay]
  /// ``storeOptions`` with those of a picture that the user gives.
  static let putOptions = storeOptions + [decode]
  /// ``options`` with several variants, and with those of a list.
  static let jobOptions = VariantOptions.optionsOfSeveral + expiryOptions + [decode, delay]

  private static let expiryOptions = [keep, expiry, expiryDate, sliding]

  /// - Parameters:
  ///   - arguments: the arguments of a command that lists ``jobOptions``, ``options``, ``putOptions`` or
  ///     only ``storeOptions``.
  ///   - priority: the priority among jobs.
  ///   - facts: what is kept in place of a thumbnail, for a request of facts.
  ///   - kept: what is kept if the arguments do not say.
  ///   - fetch: how imgctl requests pictures from origins.
  static func request(
    in arguments: ArgumentReader, priority: Int = 0, facts: Keep? = nil,
    keeping kept: Keep = .thumbnail,
    fetch: FetchOptions = .standard
  ) throws(UsageError) -> RequestOptions {
    let asked = try keep(in: arguments)
    let variant = try VariantOptions.variant(in: arguments)
    return RequestOptions(
      variant: variant,
      otherVariants: try VariantOptions.otherVariants(in: arguments, besides: variant),
      isLenient: VariantOptions.isLenient(in: arguments),
      expiry: try expiry(in: arguments), priority: priority,
      delay: try arguments.lists(delay) ? delay(in: arguments) : .zero,
      timeout: try RequestOptions.timeout(in: arguments),
      hostRatePerMinute: try RequestOptions.hostRatePerMinute(in: arguments),
      attempts: try RequestOptions.attempts(in: arguments),
      keep: asked ?? facts ?? kept, fetch: fetch)
  }

  /// What is to be kept; `nil` if the arguments do not say.
  private static func keep(in arguments: ArgumentReader) throws(UsageError) -> Keep? {
    let asked = try arguments.value(of: keep, keep(parsing:))
    guard arguments.lists(decode),
      let decoding = try arguments.value(of: decode, ImageJobRequest.Decoding.init(parsing:)),
      decoding == .lazy
    else { return asked }
    let flag = "\(decode.flag) \(ImageJobRequest.Decoding.lazy.rawValue)"
    if let given = VariantOptions.given(in: arguments) {
      throw UsageError("\(given.flag): \(flag) makes no thumbnails")
    }
    if let asked, asked != .original {
      throw UsageError(
        "\(keep.flag) \(asked.rawValue): \(flag) stores the original alone; leave \(keep.flag) out")
    }
    return .undecodedOriginal
  }

  /// Refuses the options that say how thumbnails are made and kept, for a request of facts.
  ///
  /// - Parameters:
  ///   - arguments: the arguments of a command that lists ``jobOptions``.
  ///   - option: asks for facts.
  static func refuseThumbnailOptions(
    in arguments: ArgumentReader, with option: OptionDescription
  ) throws(UsageError) {
    if let given = VariantOptions.given(in: arguments) {
      throw UsageError("\(given.flag): \(option.flag) makes no thumbnails")
    }
    if let given = [keep, decode].first(where: arguments.contains) {
      throw UsageError("\(given.flag): \(option.flag) stores facts alone")
    }
  }

  /// Facts, and originals that are not decoded, are asked for by commands and flags of their own.
  private static func keep(parsing text: String) throws(InvalidValue) -> Keep {
    guard Keep(rawValue: text)?.isFacts != true else {
      throw InvalidValue("facts are kept by imgctl info, and by imgctl submit --info-only")
    }
    return try Keep(
      parsing: text, among: Keep.allCases.filter { !$0.isFacts && $0 != .undecodedOriginal })
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
    try rethrowing(try expiry.check(at: now)) { (error: InvalidValue) in
      UsageError(command.name, error)
    }
  }
}
