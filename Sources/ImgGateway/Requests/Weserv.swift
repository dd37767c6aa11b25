import ImgClient
import ImgModel
import ImgSettings

/// The value of weserv's option `maxage`.
enum WeservAge {
  /// Reads a whole number with one of the units of nginx that weserv takes: `s` (also without a unit), `m`,
  /// `h`, `d`, `w`, `M` for 30 days and `y` for 365 days.
  ///
  /// weserv has at least a day, to spare its caches. Here a second will do.
  ///
  /// - Throws: 422 for another text, and for less than a second or more than a year.
  static func duration(_ value: OptionValue) throws(RequestRejection) -> Duration {
    let digits = value.text.utf8.prefix(while: \.isDigit)
    let unit = String(value.text.dropFirst(digits.count))
    guard let factor = seconds[unit], let number = Int64(Substring(digits)) else {
      throw value.invalid(advice)
    }
    let (total, isTooLarge) = number.multipliedReportingOverflow(by: factor)
    guard !isTooLarge, range.contains(total) else { throw value.invalid(advice) }
    return .seconds(total)
  }

  private static let day: Int64 = 86_400
  private static let range = 1...365 * day
  private static let advice = "a time from 1s to 1y, such as 12h, 31d or 2w"
  private static let seconds: [String: Int64] = [
    "": 1, "s": 1, "m": 60, "h": 3_600, "d": day, "w": 7 * day, "M": 30 * day, "y": 365 * day,
  ]
}

/// The options of weserv's query that this server has.
enum WeservOption: String, CaseIterable {
  case url, w, h, dpr, fit, we, a, fpx, fpy
  case output, q, n, page
  case bg, blur, sharp, filt
  case fallback = "default"
  case maxage, filename
  // Of this server alone, see ``WaitParameters``.
  case wait, placeholder, timeout
  // Of this server alone, as the library and the command line have them.
  case mode, crop, radius, pad, depth
  // How the file is written, not what it shows: progressive scans, zlib's effort, PNG's filters, and how
  // JPEGs are loaded.
  case il, l, af, fsol

  /// - Parameter name: as in a query; weserv's synonyms count.
  init?(name: String) {
    self.init(rawValue: Self.synonyms[name] ?? name)
  }

  private static let synonyms = [
    "width": "w", "height": "h", "align": "a", "quality": "q", "level": "l", "pages": "n",
    "errorredirect": "default",
  ]

  /// All names, also the synonyms.
  static let names = allCases.map(\.rawValue) + synonyms.keys.sorted()

  /// Options of weserv that this server does not have.
  static let unsupportedNames: Set<String> = [
    "cx", "tbg", "cy", "cw", "ch", "precrop", "trim", "mask", "mtrim", "mbg", "shape",
    "strim", "flip", "flop", "ro", "or", "rbg", "cbg", "bri", "con", "gam", "mod", "hue", "sat",
    "tint",
    "sharpf", "sharpj", "start", "stop", "encoding", "ll", "lossless", "loop", "delay", "t",
  ]

  /// Whether a value switches an option off that this server does not have. The picture is the same.
  static func isOff(_ value: OptionValue) -> Bool {
    switch value.name {
    case "flip", "flop", "ro", "trim", "precrop", "ll", "lossless":
      ["0", "false"].contains(value.text)
    // The colour of what `fit=contain` adds.
    case "cbg": true
    default: false
    }
  }
}

/// The options of weserv's query as they are read, one after the other.
///
/// weserv reads an option without a value as its default. Here the same holds for an empty value.
struct WeservOptions {
  /// weserv's `fit`.
  private enum Fit: String {
    case inside, outside, cover, fill, contain
  }

  /// The value of this server's `mode`.
  private enum Mode: String {
    case fit, fill, stretch
  }

  private var url: ImageURL?
  private var box = RequestedBox()
  /// `nil` for ``Fit/inside``.
  private var fit: Fit?
  /// In place of ``fit``.
  private var mode: Mode?
  /// Whether a picture that covers the box is cropped to it.
  private var isCropped: Bool?
  private var enlarges = true
  private var crop = ImageVariant.Crop.centre
  private var focus = FocalPoint.centre
  private var isFocal = false
  private var format: ImageVariant.Format?
  private var quality = ImageVariant.standard.quality
  private var depth = ImageVariant.Depth.eight
  private var page = 0
  private var showsAllPages = false
  private var isGrayscale = false
  private var blur = Thousandths.zero
  private var sharpen = Thousandths.zero
  private var background: RGBColour?
  private var radius = 0
  private var fallback: Substitute?
  private var waiting = WaitParameters()
  private var maximumAge: Duration?
  private var fileName: String?
  /// See ``ImageRequest/version``.
  var version: String?

  /// Reads one option.
  mutating func apply(
    _ option: WeservOption, _ value: OptionValue
  ) throws(RequestRejection) {
    switch option {
    case .url: url = try SourceAddress.completed(value.text)
    case .we: enlarges = try !value.flag(ifEmpty: true)
    case .il, .af, .fsol: _ = try value.flag(ifEmpty: true)
    // weserv's default is a kernel of its own.
    case .wait: try waiting.readWait(value)
    case .placeholder: try waiting.readPlaceholder(value)
    case .timeout: try waiting.readTimeout(value)
    case .blur where value.isEmpty, .sharp where value.isEmpty:
      throw .invalidOption(
        value.name, "has no value; write the standard deviation in pixels, such as \(value.name)=1")
    case _ where value.isEmpty: break
    case .w: box.width = try value.side()
    case .h: box.height = try value.side()
    case .dpr: box.density = try Self.density(value)
    case .fit: fit = try Self.fit(value)
    case .mode: mode = try Self.mode(value)
    case .crop: isCropped = try value.flag(ifEmpty: false)
    case .radius: radius = try value.wholeNumber(in: ImageVariant.Effects.radiusRange)
    case .pad: box.padding = try value.wholeNumber(in: ImageVariant.Effects.paddingRange)
    case .a: try readAlignment(value)
    case .fpx: focus = FocalPoint(x: try value.coordinate(), y: focus.y)
    case .fpy: focus = FocalPoint(x: focus.x, y: try value.coordinate())
    case .output: format = try value.format()
    case .q where value.text == "0": break
    case .q: quality = try value.quality()
    case .depth: depth = try Self.depth(value)
    case .n: showsAllPages = try Self.showsAllPages(value)
    case .page: page = try value.wholeNumber(in: ImageVariant.Frames.numberRange)
    case .bg: background = try ColourText.colour(value)
    case .blur: blur = try value.sigma()
    case .sharp: sharpen = try value.sigma()
    case .filt: isGrayscale = try Self.isGrayscale(value)
    case .fallback: fallback = try Substitute(value)
    case .maxage: maximumAge = try WeservAge.duration(value)
    case .filename: fileName = try value.fileName()
    case .l: _ = try value.wholeNumber(in: 0...9)
    }
  }

  /// - Throws: 400 without an address; 422 for options that do not go together.
  func query() throws(RequestRejection) -> ImageQuery {
    guard let url else {
      throw .invalidURL("the parameter url is missing; write ?url=https://example.org/a.jpg")
    }
    var query = ImageQuery(ImageRequest(url: url.text, variant: try variant()))
    query.format = format == nil ? .negotiated : .fixed
    query.fallback = fallback
    query.wait = try waiting.wait()
    query.request.timeout = waiting.timeout
    query.box = box
    query.maximumAge = maximumAge
    query.fileName = fileName
    query.request.version = version
    return query
  }

  private func variant() throws(RequestRejection) -> ImageVariant {
    var variant = try box.variant(density: WeservOption.dpr.rawValue)
    (variant.mode, variant.crop) = try scaling()
    // Without a box, nothing is enlarged.
    variant.enlarges = enlarges && !box.isOpen
    if !enlarges, !box.isOpen { variant.sizing = Sizing(keepsDrawingSize: true) }
    variant.format = format ?? .auto
    variant.quality = quality
    variant.depth = depth
    guard depth == .eight || variant.format.holdsWideSamples else {
      throw .invalidOption("depth", "is 16, which needs the output png or avif, or none")
    }
    variant.frames = try frames()
    variant.effects.isGrayscale = isGrayscale
    variant.effects.blur = blur
    variant.effects.sharpen = sharpen
    if sharpen > 0 { variant.effects.sharpenAmounts = Self.sharpenAmounts }
    variant.effects.radius = radius
    variant.effects.padding = box.padding
    variant.effects.background = background
    return variant
  }

  /// weserv's defaults of `sharpf` and `sharpj`.
  private static let sharpenAmounts = SharpenAmounts(
    flat: .one, edges: Thousandths(count: 2_000))

  /// With one side, there is nothing to cover or to crop.
  private func scaling() throws(RequestRejection) -> (ImageVariant.Mode, ImageVariant.Crop?) {
    let covers = try coveringFit()
    guard !box.isOpen else { return (.ownSize, nil) }
    switch covers ?? fit ?? .inside {
    case .inside: return (.fit, nil)
    case .outside: return box.isWhole ? (.fill, nil) : (.fit, nil)
    case .cover:
      return box.isWhole ? (.fill, isFocal ? focus.crop : crop) : (.fit, nil)
    case .fill:
      guard box.isWhole else {
        let (name, word) = mode == nil ? ("fit", "fill") : ("mode", "stretch")
        throw .invalidOption(name, "is \(word), which needs both w and h")
      }
      return (.stretch, nil)
    case .contain:
      guard !box.isWhole else {
        throw .invalidOption("fit", "is contain, which is not supported; write inside")
      }
      return (.fit, nil)
    }
  }

  /// - Returns: weserv's word for `mode` and `crop`; `nil` without these.
  private func coveringFit() throws(RequestRejection) -> Fit? {
    guard mode != nil || isCropped != nil else { return nil }
    guard fit == nil else {
      throw .invalidOption("fit", "does not go with mode and crop; leave it out")
    }
    switch (mode, isCropped ?? false) {
    case (.fill, true), (nil, true): return .cover
    case (.fill, false): return .outside
    case (.fit, false), (nil, false): return .inside
    case (.stretch, false): return .fill
    case (.fit, true), (.stretch, true):
      throw .invalidOption("crop", "needs mode=fill, because other modes have nothing to crop")
    }
  }

  private func frames() throws(RequestRejection) -> ImageVariant.Frames {
    guard showsAllPages else { return page == 0 ? .first : .number(page) }
    guard page == 0 else {
      throw .invalidOption("n", "is -1, which does not go with page; leave one of them out")
    }
    guard depth == .eight else {
      throw .invalidOption(
        "n", "is -1, which does not go with a depth of 16; leave one of them out")
    }
    if let format, ImageVariant.Format(rawValue: format.rawValue)?.holdsAnimation == false {
      throw .invalidOption("n", "is -1, which needs the output webp or gif")
    }
    return .all
  }

  // MARK: - Values

  private static func density(_ value: OptionValue) throws(RequestRejection) -> Double {
    let density = try value.decimal(in: 0...8)
    return density > 0 ? density : 1
  }

  private mutating func readAlignment(_ value: OptionValue) throws(RequestRejection) {
    isFocal = value.text == "focal"
    guard !isFocal else { return }
    switch value.text {
    case "attention": crop = .attention
    case "entropy": crop = .entropy
    default:
      guard let point = FocalPoint.weservNames[value.text] else {
        throw value.invalid(
          "center, top, right, bottom, left, a corner such as top-left, focal, attention or entropy"
        )
      }
      crop = point.crop
    }
  }

  private static func fit(_ value: OptionValue) throws(RequestRejection) -> Fit {
    guard let fit = Fit(rawValue: value.text) else {
      throw value.invalid("inside, outside, cover or fill")
    }
    return fit
  }

  private static func mode(_ value: OptionValue) throws(RequestRejection) -> Mode {
    guard let mode = Mode(rawValue: value.text) else { throw value.invalid("fit, fill or stretch") }
    return mode
  }

  private static func depth(_ value: OptionValue) throws(RequestRejection) -> ImageVariant.Depth {
    guard let depth = ImageVariant.Depth.allCases.first(where: { "\($0.rawValue)" == value.text })
    else {
      throw value.invalid("8 or 16")
    }
    return depth
  }

  private static func showsAllPages(_ value: OptionValue) throws(RequestRejection) -> Bool {
    switch value.text {
    case "1": return false
    case "-1": return true
    default: throw value.invalid("1 for one page, or -1 for all")
    }
  }

  private static func isGrayscale(_ value: OptionValue) throws(RequestRejection) -> Bool {
    guard ["greyscale", "grayscale"].contains(value.text) else {
      throw value.invalid("greyscale, the only filter that is supported")
    }
    return true
  }
}

/// Reads the query of weserv, `?url=…&w=300&h=200&fit=cover`.
///
/// Unlike weserv, it refuses what it does not have, so that no picture differs from what was asked for. Parameters
/// that name no option of any server are ignored, see ``IgnoredParameter``.
enum WeservRequest {
  /// - Throws: 400 for a query that cannot be read and for an address that is no URL; 422 for an option.
  static func query(_ parameters: QueryParameters) throws(RequestRejection) -> ImageQuery {
    try parameters.requireUniqueNames()
    var options = WeservOptions()
    var seen: Set<WeservOption> = []
    for parameter in parameters.parameters where parameter.name != RequestSignatures.parameterName {
      let value = OptionValue(name: parameter.name, text: parameter.value)
      guard let option = WeservOption(name: parameter.name) else {
        if WeservOption.isOff(value) { continue }
        switch ignored(parameter.name, besides: parameters) {
        case .version: options.version = value.version
        case .campaign: break
        case nil: throw unknown(parameter.name, besides: parameters)
        }
        continue
      }
      guard seen.insert(option).inserted else {
        throw .invalidOption(parameter.name, "is there under two names; send one of them")
      }
      try options.apply(option, value)
    }
    return try options.query()
  }

  /// - Returns: `nil` for a parameter that may belong to an address that is not escaped.
  private static func ignored(
    _ name: String, besides parameters: QueryParameters
  ) -> IgnoredParameter? {
    parameters["url"]?.contains("?") == true ? nil : IgnoredParameter(name)
  }

  private static func unknown(
    _ name: String, besides parameters: QueryParameters
  ) -> RequestRejection {
    if WeservOption.unsupportedNames.contains(name) { return .unsupportedOption(name) }
    if !name.isEmpty, parameters["url"]?.contains("?") == true {
      return .unknownOption(
        name,
        advice: "; if it belongs to the address of the picture, write %26 for the & before it")
    }
    return .unknownOption(name, among: WeservOption.names)
  }
}
