import ImgClient
import ImgHTTP
import ImgModel
import ImgSettings

/// The options of imgproxy's paths as they are read, one after the other. Of two options of one kind, the
/// last one counts.
struct ImgproxyOptions {
  /// imgproxy's `resizing_type`.
  private enum ResizingType: String {
    case fit, fill, auto, force
    case fillDown = "fill-down"
  }

  private let presets: ImgproxyPresets
  private let now: WallTime
  /// The options that were read, also those of presets.
  private var appliedCount = 0

  private var box = RequestedBox()
  private var resizingType = ResizingType.fit
  private var enlarges = false
  private var crop = ImageVariant.Crop.centre
  private var format: ImageVariant.Format?
  private var quality = ImageVariant.standard.quality
  private var page = 0
  private var blur = Thousandths.zero
  private var sharpen = Thousandths.zero
  private var background: RGBColour?
  private var keepsMetadata = false
  private var keepsCopyright = true
  private var keepsProfile = false
  private var expiresAt: WallTime?
  private var fileName: String?
  private var isAttachment = false
  private var fallback: Substitute?
  private var waiting = WaitParameters()
  private var version: String?

  /// - Parameter now: decides whether a request has expired.
  init(presets: ImgproxyPresets, now: WallTime) {
    self.presets = presets
    self.now = now
  }

  // MARK: - Reading

  /// What is to be read next, or to be noted.
  private enum Step {
    case option(ImgproxyOption)
    case preset(String)
    case endOfPreset(String)
  }

  /// Reads the options of a preset.
  ///
  /// - Throws: 422 if there is none of the name; as ``apply(_:)`` does.
  mutating func applyPreset(_ name: String) throws(RequestRejection) {
    try apply([.preset(name)])
  }

  /// Reads options, and those of the presets that they name.
  ///
  /// - Throws: 404 for a request that has expired; 422.
  mutating func apply(_ options: [ImgproxyOption]) throws(RequestRejection) {
    try apply(options.map(Step.option))
  }

  /// Takes steps in their order. Those that follow from one are taken before the others.
  private mutating func apply(_ steps: [Step]) throws(RequestRejection) {
    var waiting = Array(steps.reversed())
    // A preset that uses itself is not applied again.
    var openPresets: Set<String> = []
    while let step = waiting.popLast() {
      switch step {
      case .option(let option):
        waiting += try presets(appliedBy: option).reversed().map(Step.preset)
      case .preset(let name):
        let options = try options(ofPreset: name)
        guard openPresets.insert(name).inserted else { continue }
        waiting.append(.endOfPreset(name))
        waiting += options.reversed().map(Step.option)
      case .endOfPreset(let name): openPresets.remove(name)
      }
    }
  }

  private func options(ofPreset name: String) throws(RequestRejection) -> [ImgproxyOption] {
    guard let options = presets[name] else {
      throw .invalidOption(
        ImgproxyName.preset.rawValue,
        "names \(Spelling.quoted(name)), which the server does not have")
    }
    return options
  }

  /// Reads one option.
  ///
  /// - Returns: the presets that it names.
  private mutating func presets(
    appliedBy option: ImgproxyOption
  ) throws(RequestRejection) -> [String] {
    appliedCount += 1
    guard appliedCount <= Self.maximumCount else {
      throw .invalidOption(
        option.name,
        "is one of more than \(Self.maximumCount), with those of presets; leave some out")
    }
    guard let name = ImgproxyName(name: option.name) else {
      guard let off = ImgproxyName.unsupportedNames[option.name] else {
        throw .unknownOption(option.name, among: ImgproxyName.names)
      }
      guard off.contains(option.arguments) else { throw .unsupportedOption(option.name) }
      return []
    }
    switch name {
    case .resize: try applyResize(option)
    case .size: try applySize(option, from: 0)
    case .gravity: try applyGravity(option)
    case .background: try applyBackground(option)
    case .filename: try applyFileName(option)
    case .placeholder: try waiting.readPlaceholder(option.wholeValue)
    case .preset: return option.arguments.filter { !$0.isEmpty }
    default:
      try option.requireArguments(atMost: 1)
      try applyValue(option.value(0), of: name)
    }
    return []
  }

  /// Reads the extension of the address, which goes before the option of the format.
  mutating func applyExtension(_ text: String) throws(RequestRejection) {
    let value = OptionValue(name: "extension", text: text)
    guard !text.contains("/") else { throw value.invalid("%40 for an @ in the address") }
    format = try value.format()
  }

  /// Reads an option with one argument; an empty one is its default.
  private mutating func applyValue(
    _ value: OptionValue, of name: ImgproxyName
  ) throws(RequestRejection) {
    let isEmpty = value.isEmpty
    switch name {
    case .resizingType: resizingType = try isEmpty ? .fit : Self.resizingType(value)
    case .width: box.width = try isEmpty ? 0 : value.side()
    case .height: box.height = try isEmpty ? 0 : value.side()
    case .dpr: box.density = try isEmpty ? 1 : Self.density(value)
    case .enlarge: enlarges = try value.flag(ifEmpty: false)
    case .quality: quality = try isEmpty ? Self.standardQuality : Self.quality(value)
    case .format: format = try isEmpty ? nil : value.format()
    case .blur: blur = try isEmpty ? .zero : value.sigma()
    case .sharpen: sharpen = try isEmpty ? .zero : value.sigma()
    case .page: page = try isEmpty ? 0 : value.wholeNumber(in: ImageVariant.Frames.numberRange)
    case .stripMetadata: keepsMetadata = try !value.flag(ifEmpty: true)
    case .stripColourProfile: keepsProfile = try !value.flag(ifEmpty: true)
    case .keepCopyright: keepsCopyright = try value.flag(ifEmpty: true)
    case .autoRotate: try Self.requireOn(value)
    // A thumbnail shows one frame in any case.
    case .disableAnimation: _ = try value.flag(ifEmpty: true)
    case .expires: try applyExpiry(value)
    case .returnAttachment: isAttachment = try value.flag(ifEmpty: false)
    case .fallbackImageURL: fallback = try isEmpty ? nil : Self.fallback(value)
    case .wait: try waiting.readWait(value)
    case .timeout: try waiting.readTimeout(value)
    case .cachebuster: version = isEmpty ? nil : value.version
    case .resize, .size, .gravity, .background, .filename, .placeholder, .preset:
      preconditionFailure("options with several arguments are read elsewhere")
    }
  }

  private mutating func applyResize(_ option: ImgproxyOption) throws(RequestRejection) {
    try option.requireArguments(atMost: 8)
    let type = option.value(0)
    if !type.isEmpty { resizingType = try Self.resizingType(type) }
    try applySize(option, from: 1)
  }

  /// Width, height, enlarge and extend. In this option an empty argument changes nothing.
  private mutating func applySize(
    _ option: ImgproxyOption, from first: Int
  ) throws(RequestRejection) {
    try option.requireArguments(atMost: first + 7)
    let (width, height) = (option.value(first), option.value(first + 1))
    let (enlarge, extend) = (option.value(first + 2), option.value(first + 3))
    if !width.isEmpty { box.width = try width.side() }
    if !height.isEmpty { box.height = try height.side() }
    enlarges = try enlarge.flag(ifEmpty: enlarges)
    guard try !extend.flag(ifEmpty: false) else {
      throw .invalidOption(option.name, "extends the picture, which is not supported; leave it out")
    }
  }

  private mutating func applyGravity(_ option: ImgproxyOption) throws(RequestRejection) {
    try option.requireArguments(atMost: 3)
    let type = option.value(0)
    switch type.text {
    case "": crop = .centre
    case "sm":
      try option.requireArguments(atMost: 1)
      crop = .attention
    case "fp":
      let (x, y) = (option.value(1), option.value(2))
      crop = FocalPoint(x: try x.coordinate(), y: try y.coordinate()).crop
    default:
      guard let point = FocalPoint.imgproxyNames[type.text] else {
        throw type.invalid("ce, no, so, ea, we, noea, nowe, soea, sowe, sm or fp:x:y")
      }
      guard option.arguments.dropFirst().allSatisfy({ $0.isEmpty || Double($0) == 0 }) else {
        throw .invalidOption(option.name, "has an offset, which is not supported; leave it out")
      }
      crop = point.crop
    }
  }

  private mutating func applyBackground(_ option: ImgproxyOption) throws(RequestRejection) {
    if option.arguments.count == 3 {
      background = RGBColour(
        red: UInt8(try option.value(0).wholeNumber(in: 0...255)),
        green: UInt8(try option.value(1).wholeNumber(in: 0...255)),
        blue: UInt8(try option.value(2).wholeNumber(in: 0...255)))
    } else {
      try option.requireArguments(atMost: 1)
      background = try option.value(0).isEmpty ? nil : ColourText.colour(option.value(0))
    }
  }

  private mutating func applyFileName(_ option: ImgproxyOption) throws(RequestRejection) {
    try option.requireArguments(atMost: 2)
    let (written, encoding) = (option.value(0), option.value(1))
    let name = try encoding.flag(ifEmpty: false) ? Self.decoded(written) : written
    fileName = try name.isEmpty ? nil : name.fileName()
  }

  private mutating func applyExpiry(_ value: OptionValue) throws(RequestRejection) {
    guard !value.isEmpty, value.text != "0" else {
      expiresAt = nil
      return
    }
    let seconds = try value.wholeNumber(in: 1...Self.lastSecond)
    let time = WallTime(rawValue: Int64(seconds) * 1_000)
    guard time >= now else {
      throw RequestRejection(
        .notFound, code: "expired", "the request has expired; ask for a new URL")
    }
    expiresAt = time
  }

  // MARK: - Result

  /// The request of a picture.
  func query(_ url: ImageURL) throws(RequestRejection) -> ImageQuery {
    var query = ImageQuery(
      ImageRequest(url: url.text, variant: try variant()), service: .imgproxy)
    query.request.version = version
    query.format = format == nil ? .negotiated : .fixed
    query.box = box
    query.expiresAt = expiresAt
    query.fileName = fileName
    query.isAttachment = isAttachment
    query.fallback = fallback
    query.wait = try waiting.wait()
    query.request.timeout = waiting.timeout
    return query
  }

  func variant() throws(RequestRejection) -> ImageVariant {
    let (mode, crop) = try scaling()
    var variant = try emptyVariant(mode)
    (variant.mode, variant.crop, variant.enlarges) = (mode, crop, enlarges)
    variant.format = format ?? .auto
    variant.quality = quality
    variant.frames = page == 0 ? .first : .number(page)
    variant.effects.blur = blur
    variant.effects.sharpen = sharpen
    variant.effects.background = background
    variant.keptData.profile = keepsProfile
    variant.keptData.metadata = keepsMetadata
    variant.keptData.copyright = keepsCopyright && !keepsMetadata
    return variant
  }

  /// The box. Where a small picture lowers the density, the density stands beside it.
  private func emptyVariant(_ mode: ImageVariant.Mode) throws(RequestRejection) -> ImageVariant {
    let name = ImgproxyName.dpr.rawValue
    let isDense = box.isOpen || mode != .fit && !enlarges
    return isDense && box.density != 1
      ? try box.denseVariant(density: name) : try box.variant(density: name)
  }

  /// With one side, there is nothing to fill.
  private func scaling() throws(RequestRejection) -> (ImageVariant.Mode, ImageVariant.Crop?) {
    guard !box.isOpen else { return (.ownSize, nil) }
    switch resizingType {
    case .fit: return (.fit, nil)
    case .fill: return box.isWhole ? (.fill, crop) : (.fit, nil)
    case .fillDown: return box.isWhole ? (.fillDown, crop) : (.fit, nil)
    case .auto: return box.isWhole ? (.auto, crop) : (.fit, nil)
    case .force:
      guard box.isWhole else {
        throw .invalidOption(
          ImgproxyName.resizingType.rawValue, "is force, which needs both a width and a height")
      }
      return (enlarges ? .stretch : .stretchDown, nil)
    }
  }

  // MARK: - Values

  /// The maximum number of options. Presets that use others could have any number.
  private static let maximumCount = 1_000
  /// The last second that a clock of this program has.
  private static let lastSecond = Int(Int64.max / 1_000)
  private static let standardQuality = ImageVariant.standard.quality

  private static func resizingType(_ value: OptionValue) throws(RequestRejection) -> ResizingType {
    guard let type = ResizingType(rawValue: value.text) else {
      throw value.invalid("fit, fill, fill-down, auto or force")
    }
    return type
  }

  private static func density(_ value: OptionValue) throws(RequestRejection) -> Double {
    let density = try value.decimal(in: 0...Double(ImageVariant.sideRange.upperBound))
    guard density > 0 else { throw value.invalid("a number that is greater than 0") }
    return density
  }

  private static func quality(_ value: OptionValue) throws(RequestRejection) -> Int {
    value.text == "0" ? standardQuality : try value.quality()
  }

  private static func requireOn(_ value: OptionValue) throws(RequestRejection) {
    guard try value.flag(ifEmpty: true) else { throw value.invalid("1; 0 is not supported") }
  }

  private static func fallback(_ value: OptionValue) throws(RequestRejection) -> Substitute {
    .picture(url: try SourceAddress.url(decoded(value).text).text)
  }

  /// The text of a value in base64 for URLs.
  private static func decoded(_ value: OptionValue) throws(RequestRejection) -> OptionValue {
    guard let bytes = Base64URL.decoded(value.text),
      let text = String(validating: bytes, as: UTF8.self)
    else { throw value.invalid("text in base64 for URLs") }
    return OptionValue(name: value.name, text: text)
  }
}

/// One option of imgproxy's path: a name and its arguments, `rs:fit:300:200`.
struct ImgproxyOption: Hashable {
  let name: String
  /// Decoded. At least one, which may be empty.
  let arguments: [String]

  /// - Parameter segment: of a path, with its escapes, and with at least one colon. An escaped colon is one, too:
  ///   some proxies escape them, and imgproxy reads them so.
  /// - Throws: 400 for invalid escapes.
  init(_ segment: Substring) throws(RequestRejection) {
    var parts: [String] = []
    let text = EscapedText.restoringColons(in: segment)
    for part in text.split(separator: ":", omittingEmptySubsequences: false) {
      parts.append(try EscapedText.decoded(part))
    }
    name = parts[0]
    arguments = Array(parts.dropFirst())
  }

  /// An argument as a value of the option. An argument that is not there is empty, which means its default.
  func value(_ index: Int) -> OptionValue {
    OptionValue(name: name, text: index < arguments.count ? arguments[index] : "")
  }

  /// All arguments as one value, for an option whose values have colons.
  var wholeValue: OptionValue { OptionValue(name: name, text: arguments.joined(separator: ":")) }

  /// Refuses more arguments than the option has.
  func requireArguments(atMost count: Int) throws(RequestRejection) {
    guard arguments.count <= count else {
      throw .invalidOption(
        name, "has \(arguments.count) arguments; write at most \(count), separated by colons")
    }
  }
}

/// The options of imgproxy's paths that this server has.
enum ImgproxyName: String, CaseIterable {
  case resize, size, width, height, dpr, enlarge, gravity, quality, format
  case resizingType = "resizing_type"
  case blur, sharpen, background, page
  case stripMetadata = "strip_metadata"
  case stripColourProfile = "strip_color_profile"
  case keepCopyright = "keep_copyright"
  case autoRotate = "auto_rotate"
  case disableAnimation = "disable_animation"
  case expires, cachebuster, preset, filename
  case returnAttachment = "return_attachment"
  case fallbackImageURL = "fallback_image_url"
  // Of this server alone, see ``WaitParameters``.
  case wait, placeholder, timeout

  /// - Parameter name: as in a path; the short names count.
  init?(name: String) {
    self.init(rawValue: Self.shortNames[name] ?? name)
  }

  private static let shortNames = [
    "rs": "resize", "s": "size", "rt": "resizing_type", "w": "width", "h": "height",
    "el": "enlarge", "g": "gravity", "q": "quality", "f": "format", "ext": "format", "bl": "blur",
    "sh": "sharpen", "bg": "background", "pg": "page", "sm": "strip_metadata",
    "scp": "strip_color_profile", "kcr": "keep_copyright", "ar": "auto_rotate",
    "da": "disable_animation", "exp": "expires", "cb": "cachebuster", "pr": "preset",
    "fn": "filename", "att": "return_attachment", "fiu": "fallback_image_url",
  ]

  /// All names, also the short ones.
  static let names = allCases.map(\.rawValue) + shortNames.keys.sorted()

  /// The arguments that switch an option off.
  struct OffArguments {
    /// Of the first arguments. With them off, later ones have no meaning.
    private let leading: [Set<String>]

    fileprivate init(_ texts: Set<String>, count: Int = 1) {
      leading = Array(repeating: texts, count: count)
    }

    /// Whether all of them are there, as far as any are.
    func contains(_ arguments: [String]) -> Bool {
      zip(leading, arguments).allSatisfy { $0.contains($1) }
    }
  }

  /// Options of imgproxy that this server does not have. An option that is off is accepted: the picture is the
  /// same.
  static let unsupportedNames: [String: OffArguments] = {
    let off: Set<String> = ["", "0", "f", "false"]
    let empty = OffArguments([""])
    let rows: [(names: [String], off: OffArguments)] = [
      (["extend", "ex", "extend_aspect_ratio", "extend_ar", "exar"], OffArguments(off)),
      (["min-width", "mw", "min-height", "mh", "watermark", "wm"], OffArguments(off)),
      (["crop", "c"], OffArguments(off, count: 2)),
      (["padding", "pd"], OffArguments(off, count: 4)),
      (["rotate", "rot", "raw", "enforce_thumbnail", "eth"], OffArguments(off)),
      (["flip", "fl"], OffArguments(off, count: 2)), (["preserve_hdr", "ph"], OffArguments(off)),
      (["max_bytes", "mb", "dpi", "pixelate", "pix"], OffArguments(off)),
      (["zoom", "z"], OffArguments(["", "1"], count: 2)),
      (["pages", "pgs"], OffArguments(["", "1"])),
      (["trim", "t", "skip_processing", "skp", "format_quality", "fq"], empty),
      (["crop_aspect_ratio", "crop_ar", "car", "resizing_algorithm", "ra"], empty),
      (["objects_position", "obj_pos", "op", "background_alpha", "bga", "adjust", "a"], empty),
      (["brightness", "br", "contrast", "co", "saturation", "sa", "monochrome", "mc"], empty),
      (["duotone", "dt", "unsharp_masking", "ush", "blur_detections", "bd"], empty),
      (["draw_detections", "dd", "colorize", "col", "gradient", "gr", "style", "st"], empty),
      (["watermark_url", "wmu", "watermark_text", "wmt", "watermark_size", "wms"], empty),
      (["watermark_rotate", "wm_rot", "wmr", "watermark_shadow", "wmsh"], empty),
      (["autoquality", "aq", "jpeg_options", "jpgo", "png_options", "pngo"], empty),
      (["webp_options", "webpo", "video_thumbnail_second", "vts"], empty),
      (["video_thumbnail_keyframes", "vtk", "video_thumbnail_tile", "vtt"], empty),
      (["video_thumbnail_animation", "vta", "hashsum", "hs"], empty),
      (["max_src_resolution", "msr", "max_src_file_size", "msfs", "max_animation_frames"], empty),
      (["maf", "max_animation_frame_resolution", "mafr", "max_result_dimension", "mrd"], empty),
    ]
    return rows.reduce(into: [:]) { table, row in
      for name in row.names { table[name] = row.off }
    }
  }()
}
