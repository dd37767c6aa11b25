import ImgClient
import ImgModel
import ImgSettings

/// The options that select the variant of a picture.
enum VariantOptions {
  private static let size = OptionDescription(
    "--size", "WxH",
    help:
      "The box in pixels; N means NxN, and 600x or x600 leave a side open. Several sizes of a picture are for imgctl submit only. "
      + "Default: 256x256.")
  private static let sizes = OptionDescription(
    "--size", "WxH",
    help:
      "The box in pixels; N means NxN, and 600x or x600 leave a side open. Repeatable: each size is a thumbnail of its own, from one "
      + "fetch and one decode. Default: 256x256.",
    isRepeatable: true)
  private static let mode = OptionDescription(
    "--mode", "MODE",
    help: "fit: inside the box; fill: cover it; fill-down: cover it and crop, and keep the "
      + "proportions of the box where the picture is smaller; auto: fill if picture and box are "
      + "both portraits or both landscapes, else fit; stretch: exactly the box; stretch-down: the "
      + "box, or its proportions where the picture is smaller; own-size: as large as it is, at most "
      + "the box. Default: fit.")
  private static let crop = OptionDescription(
    "--crop", "PART",
    help: "Crop to the box; implies --mode fill. The part that is kept: centre, attention (what "
      + "people look at; also: smart), entropy (the most detail), or a point X,Y from 0,0 (upper left) to 1,1. "
      + "--crop alone keeps the centre.",
    impliedValue: "\(ImageVariant.Crop.centre)", attachesWords: true)
  private static let enlarge = OptionDescription(
    "--enlarge",
    help: "Enlarge pictures that are smaller than the box. Default: they stay small; a drawing "
      + "(SVG) fills the box.")
  private static let format = OptionDescription(
    "--format", "FORMAT",
    help:
      "auto, compatible, jpeg (or jpg), png, webp, avif or gif; auto is WebP for animations and for "
      + "pictures with transparency, else JPEG; compatible is GIF, PNG and JPEG for the same. "
      + "Default: auto.")
  static let quality = OptionDescription(
    "--quality", "Q",
    help: "The quality of the encoder, from 1 to 100; PNG and GIF ignore it. Default: 80.")
  private static let depth = OptionDescription(
    "--depth", "BITS",
    help:
      "The bits of a sample, 8 or 16. With 16, PNG keeps up to 16 and AVIF 12 where the picture has "
      + "more than 8; auto and compatible are PNG then. JPEG, WebP and GIF hold 8; frames of "
      + "animated PNGs and posters of animations have 8. Default: 8.")
  private static let embeddedUse = OptionDescription(
    "--thumb", "WHEN",
    help: "Use the preview that a camera put into the file: auto (HEIF and AVIF, where it is large "
      + "enough), always (wherever there is one) or never. Default: auto.")
  private static let keepProfile = OptionDescription(
    "--keep-profile",
    help: "Keep the colours and the profile of the file. Default: colours become sRGB.")
  private static let keepMetadata = OptionDescription(
    "--keep-metadata", help: "Copy EXIF, XMP and IPTC, with the place if it is there.")
  private static let keepCopyright = OptionDescription(
    "--keep-copyright", help: "Copy the author and the rights alone, as EXIF.")
  static let lenient = OptionDescription(
    "--lenient",
    help: "Accept a damaged JPEG, PNG, GIF, TIFF, BMP, ICO or PNM: its thumbnail shows what can be "
      + "decoded, and is marked as damaged. Default: it fails with corrupt_image.")

  /// The options that select a thumbnail.
  static let options = [size] + othersThanSize
  /// The options that select thumbnails of several sizes.
  static let optionsOfSeveral = [sizes] + othersThanSize

  /// Those that a path of the gateway has words for.
  static let optionsOfPath = [size, crop, enlarge, format, quality]

  private static let othersThanSize =
    [PixelRatio.option, mode, crop, enlarge, format, quality, depth] + FrameOptions.options
    + EffectOptions.options
    + [embeddedUse, keepProfile, keepMetadata, keepCopyright, lenient]

  /// One of them that the user gave; `nil` if there is none.
  static func given(in arguments: ArgumentReader) -> OptionDescription? {
    ([size] + optionsOfSeveral).first { arguments.lists($0) && arguments.contains($0) }
  }

  /// - Parameters:
  ///   - arguments: the arguments of a command that lists ``options``.
  ///   - destination: its file extension selects the format if no option does.
  static func choice(
    in arguments: ArgumentReader, for destination: PictureOutput
  ) throws(UsageError) -> VariantChoice {
    let promised = destination.format.flatMap(ImageVariant.Format.init)
    let variant = try variant(in: arguments, otherwiseAs: promised)
    return VariantChoice(
      variant: variant, isLenient: isLenient(in: arguments),
      formatSource: arguments.contains(format) ? .option : promised == nil ? .nothing : .fileName)
  }

  static func isLenient(in arguments: ArgumentReader) -> Bool {
    arguments.contains(lenient)
  }

  /// - Parameter promised: the format if no option selects one.
  static func variant(
    in arguments: ArgumentReader, otherwiseAs promised: ImageVariant.Format? = nil
  ) throws(UsageError) -> Variant {
    let standard = ImageVariant.standard
    let ratio = try PixelRatio(in: arguments)
    let box =
      try boxes(in: arguments).first
      ?? RequestedBox(width: standard.width, height: standard.height)
    let crop = try arguments.value(of: crop, ImageVariant.Crop.init(parsing:))
    let mode = try arguments.value(of: mode, Self.mode(named:))
    let format = try arguments.value(of: format, ImageVariant.Format.init(named:))
    let quality = try arguments.value(of: quality) { (text) throws(InvalidValue) in
      try Int(parsing: text, in: ImageVariant.qualityRange)
    }
    let effects = try EffectOptions.effects(in: arguments, ratio)
    guard box.isWhole || crop == nil && [nil, .fit].contains(mode) else {
      throw UsageError(
        "\(size.flag): an open side, as in 600x, goes with --mode fit, without --crop")
    }
    let (width, height) = box.sides(ratio, within: effects.padding)
    var variant = ImageVariant(
      width: width, height: height,
      mode: mode ?? (crop == nil ? standard.mode : .fill), crop: crop,
      enlarges: arguments.contains(enlarge), format: format ?? promised ?? standard.format,
      quality: quality ?? standard.quality,
      depth: try arguments.value(of: depth, ImageVariant.Depth.init(parsing:)) ?? standard.depth,
      frames: try FrameOptions.selection(in: arguments),
      effects: effects,
      keptData: ImageVariant.KeptData(
        profile: arguments.contains(keepProfile), metadata: arguments.contains(keepMetadata),
        copyright: arguments.contains(keepCopyright)))
    variant.embeddedUse =
      try arguments.value(of: embeddedUse, EmbeddedUse.init(parsing:)) ?? .auto
    return try rethrowing(try Variant(variant)) { (error: VariantError) in UsageError("\(error)") }
  }

  /// The variants of the sizes behind the first, each once.
  ///
  /// - Parameters:
  ///   - arguments: the arguments of a command that lists ``optionsOfSeveral``, or only ``options``.
  ///   - variant: that of the first size.
  static func otherVariants(
    in arguments: ArgumentReader, besides variant: Variant
  ) throws(UsageError) -> [Variant] {
    let ratio = try PixelRatio(in: arguments)
    var variants = [variant]
    for box in try boxes(in: arguments).dropFirst() {
      do throws(VariantError) {
        let other = try variant.changed {
          ($0.width, $0.height) = box.sides(ratio, within: $0.effects.padding)
        }
        if !variants.contains(other) { variants.append(other) }
      } catch {
        throw UsageError("\(error)")
      }
    }
    guard variants.count <= ImageVariant.maximumCount else {
      throw UsageError("--size: at most \(ImageVariant.maximumCount) sizes")
    }
    return Array(variants.dropFirst())
  }

  /// The path of a picture at the gateway, in imgproxy's words.
  ///
  /// - Parameters:
  ///   - url: of the picture.
  ///   - arguments: the arguments of a command that lists ``optionsOfPath``.
  static func gatewayPath(
    of url: ImageURL, in arguments: ArgumentReader
  ) throws(UsageError) -> String {
    let standard = ImageVariant.standard
    let box =
      try boxes(in: arguments).first
      ?? RequestedBox(width: standard.width, height: standard.height)
    let crop = try arguments.value(of: crop, ImageVariant.Crop.init(parsing:))
    guard box.isWhole || crop == nil else {
      throw UsageError("\(Self.crop.flag) needs a box with both sides, such as 600x400")
    }
    var words = [
      "rs:\(crop == nil ? "fit" : "fill"):\(box.width ?? 0):\(box.height ?? 0)"
        + (arguments.contains(enlarge) ? ":1" : "")
    ]
    switch crop {
    case nil, .centre: break
    case .attention: words.append("g:sm")
    case .point(let x, let y): words.append("g:fp:\(x):\(y)")
    case .entropy:
      throw UsageError("\(Self.crop.flag)=entropy: the gateway's paths have no word for it")
    }
    let quality = try arguments.value(of: quality) { (text) throws(InvalidValue) in
      try Int(parsing: text, in: ImageVariant.qualityRange)
    }
    if let quality { words.append("q:\(quality)") }
    let format = try arguments.value(of: format, ImageVariant.Format.init(named:)) ?? .auto
    guard format != .compatible else {
      throw UsageError("\(Self.format.flag) compatible: the gateway's paths have no word for it")
    }
    // Without an extension, the gateway asks the client which formats it accepts.
    let end = format == .auto ? "" : "@\(format.rawValue)"
    return "/" + words.joined(separator: "/") + SignedTarget.plainAddress(url.text) + end
  }

  private static func mode(named text: String) throws(InvalidValue) -> ImageVariant.Mode {
    // The words of CSS, and of other programs.
    let advice: String? =
      switch text {
      case "contain", "pad", "inside": "--mode fit keeps all of the picture inside the box"
      case "cover", "outside": "--mode fill covers the box"
      case "crop": "--crop cuts the picture to the box"
      default: nil
      }
    if let advice { throw InvalidValue("\(Spelling.quoted(text)) is no mode; \(advice)") }
    return try ImageVariant.Mode(parsing: text)
  }

  private static func boxes(
    in arguments: ArgumentReader
  ) throws(UsageError) -> [RequestedBox] {
    let option = arguments.lists(sizes) ? sizes : size
    return try rethrowing(
      try (arguments.texts(of: option) ?? []).map { (text) throws(InvalidValue) in
        try RequestedBox(parsing: text)
      }
    ) { (error: InvalidValue) in UsageError(option.flag, error) }
  }
}

/// The box of `--size`.
struct RequestedBox {
  /// In pixels; `nil` leaves the side to the proportions of the picture.
  let width: Int?
  /// The same.
  let height: Int?

  init(width: Int, height: Int) {
    (self.width, self.height) = (width, height)
  }

  /// Reads `640x480`, `256` for a square, and `600x` or `x600` with an open side. A number may have `px`.
  init(parsing text: String) throws(InvalidValue) {
    guard !text.contains("%") else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is a share; sizes are in pixels, such as 256 or 640x480")
    }
    let pixels = Self.withoutUnits(text.lowercased())
    let sides = pixels.split(omittingEmptySubsequences: false) { "x×".contains($0) }.map(
      String.init)
    let words = pixels.split { ",;* ".contains($0) }
    guard words.count != 2 || words.contains(where: { Int($0) == nil }) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a box; write \(words.joined(separator: "x"))")
    }
    guard sides.count <= 2, sides != [""], sides != ["", ""] else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a box; write WxH, such as 640x480, or 600x for a width alone"
      )
    }
    guard sides.contains(where: { $0.contains(where: \.isNumber) }) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a box; write WxH, such as 640x480, or 600x for a width alone"
      )
    }
    let numbers = try sides.map { (side) throws(InvalidValue) -> Int? in
      side.isEmpty ? nil : try Int(parsing: side, in: ImageVariant.sideRange)
    }
    (width, height) = (numbers[0], numbers[numbers.count - 1])
  }

  /// Drops `px` at the end of a number.
  private static func withoutUnits(_ text: String) -> String {
    var numbers = ""
    for (index, part) in text.split(separator: "px", omittingEmptySubsequences: false).enumerated()
    {
      let isUnit = numbers.last?.isNumber == true && part.first?.isNumber != true
      numbers += (index == 0 || isUnit ? "" : "px") + part
    }
    return numbers
  }

  var isWhole: Bool { width != nil && height != nil }

  /// The sides of the variant's box. An open side is as long as padding permits.
  func sides(_ ratio: PixelRatio, within padding: Int) -> (width: Int, height: Int) {
    let longest = ImageVariant.sideRange.upperBound - 2 * padding
    return (width.map(ratio.scaling) ?? longest, height.map(ratio.scaling) ?? longest)
  }
}

extension ImageVariant.Format {
  /// Reads the name of a format, also `jpg`.
  fileprivate init(named text: String) throws(InvalidValue) {
    if let format = ImageFormat(extensionOf: "a.\(text)"), ImageVariant.Format(format) == nil {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is decoded, but thumbnails are not \(text); write jpeg, png, webp, avif or gif"
      )
    }
    self = try text.lowercased() == "jpg" ? .jpeg : .init(parsing: text)
  }
}

extension ImageVariant.Crop {
  init(parsing text: String) throws(InvalidValue) {
    guard let crop = ImageVariant.Crop(text) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a part; write centre, attention, entropy, or a point "
          + "from 0 to 1 with up to three decimals, such as 0.5,0.25")
    }
    self = crop
  }
}

extension ImageVariant.Depth {
  fileprivate init(parsing text: String) throws(InvalidValue) {
    guard let depth = ImageVariant.Depth.allCases.first(where: { "\($0.rawValue)" == text }) else {
      throw InvalidValue("\(Spelling.quoted(text)) is not a depth; write 8 or 16")
    }
    self = depth
  }
}

extension Int {
  /// Reads a whole number.
  init(parsing text: String, in range: ClosedRange<Int>) throws(InvalidValue) {
    let range = Int64(range.lowerBound)...Int64(range.upperBound)
    self.init(try UnitScale.count.value(parsing: text, in: range))
  }
}

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
  private static let padding = OptionDescription(
    "--padding", "N",
    help:
      "Add a border of so many pixels, at most 1000, around the box. It is transparent, or has the "
      + "colour of --background.")
  private static let background = OptionDescription(
    "--background", "COLOUR",
    help:
      "Put this colour behind transparent pixels: a name of CSS such as orange, or digits such as ff8800. "
      + "Default: they stay transparent, and are white in JPEG.")

  static let options = [grayscale, blur, sharpen, radius, padding, background]

  /// - Parameters:
  ///   - arguments: the arguments of a command that lists ``options``.
  ///   - ratio: lengths are multiplied by it.
  static func effects(
    in arguments: ArgumentReader, _ ratio: PixelRatio
  ) throws(UsageError) -> ImageVariant.Effects {
    ImageVariant.Effects(
      isGrayscale: arguments.contains(grayscale),
      blur: ratio.scaling(try arguments.value(of: blur, sigma) ?? .zero),
      sharpen: ratio.scaling(try arguments.value(of: sharpen, sigma) ?? .zero),
      radius: ratio.scaling(
        try arguments.value(of: radius) { (text) throws(InvalidValue) in
          try Int(parsing: text, in: ImageVariant.Effects.radiusRange)
        } ?? 0),
      padding: ratio.scaling(
        try arguments.value(of: padding) { (text) throws(InvalidValue) in
          try Int(parsing: text, in: ImageVariant.Effects.paddingRange)
        } ?? 0),
      background: try arguments.value(of: background, RGBColour.init(parsing:)))
  }

  private static func sigma(_ text: String) throws(InvalidValue) -> Thousandths {
    try Thousandths(parsing: text, in: ImageVariant.Effects.sigmaRange)
  }
}

extension RGBColour {
  init(parsing text: String) throws(InvalidValue) {
    guard let colour = RGBColour(named: text) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a colour; write a name of CSS such as orange, or digits such as ff8800"
      )
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

/// The options that select frames of an animation or pages of a document.
enum FrameOptions {
  private static let frame = OptionDescription(
    "--frame", "N",
    help: "The frame of an animation or the page of a document, counted from 0.")
  private static let time = OptionDescription(
    "--at", "TIME",
    help: "The frame that an animation shows at this time, such as 1.25s, 500ms or 2m, at most "
      + "1d; after its end, the last one.")
  private static let poster = OptionDescription(
    "--poster", help: "The first frame that is not blank.")
  private static let animated = OptionDescription(
    "--animated",
    help: "All frames: the thumbnail of an animation is one, in WebP or GIF. Neighbours that look "
      + "alike are one frame of a WebP, shown as long as both. It keeps neither "
      + "metadata nor profile, and its centre with --crop=attention and --crop=entropy. Default: "
      + "the first frame.")

  static let options = [frame, time, poster, animated]

  /// - Parameter arguments: the arguments of a command that lists ``options``.
  static func selection(in arguments: ArgumentReader) throws(UsageError) -> ImageVariant.Frames {
    let number = try arguments.value(of: frame) { (text) throws(InvalidValue) in
      try Int(parsing: text, in: ImageVariant.Frames.numberRange)
    }
    let time = try arguments.value(of: time, duration)
    let found: [ImageVariant.Frames] = [
      number.map { .number($0) }, time.map { .time($0) },
      arguments.contains(poster) ? .poster : nil, arguments.contains(animated) ? .all : nil,
    ].compactMap(\.self)
    guard found.count <= 1 else {
      throw UsageError("give one of \(options.map(\.flag).joined(separator: ", "))")
    }
    return found.first ?? .first
  }

  private static func duration(_ text: String) throws(InvalidValue) -> Duration {
    let range = ImageVariant.Frames.timeRange.milliseconds
    return .milliseconds(try UnitScale.duration.value(parsing: text, in: range))
  }
}

/// How many pixels of a screen are one pixel of a page along each side. All lengths of a variant are
/// multiplied by it, so that a thumbnail looks equal and sharper.
struct PixelRatio {
  static let option = OptionDescription(
    "--dpr", "RATIO",
    help: "Multiply --size, --blur, --sharpen and --radius, for screens with that many pixels for "
      + "each of a page. Default: 1.")

  private static let range = Thousandths(count: 100)...Thousandths(count: 10_000)

  private let ratio: Thousandths

  /// - Parameter arguments: the arguments of a command that lists ``option``.
  init(in arguments: ArgumentReader) throws(UsageError) {
    ratio =
      try arguments.value(of: Self.option) { (text) throws(InvalidValue) in
        try Thousandths(parsing: text, in: Self.range)
      } ?? .one
  }

  /// A length in pixels, rounded to the nearest number; no length becomes 0.
  func scaling(_ length: Int) -> Int {
    length == 0 ? 0 : max(1, (length * ratio.count + 500) / 1_000)
  }

  func scaling(_ length: Thousandths) -> Thousandths {
    Thousandths(count: scaling(length.count))
  }
}
