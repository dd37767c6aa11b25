import ImgClient
import ImgModel
import ImgSettings

/// The options that select the variant of a picture.
enum VariantOptions {
  private static let size = OptionDescription(
    "--size", "WxH",
    help: "The box in pixels; N means NxN. Several sizes of a picture are for imgctl submit only. "
      + "Default: 256x256.")
  private static let sizes = OptionDescription(
    "--size", "WxH",
    help:
      "The box in pixels; N means NxN. Repeatable: each size is a thumbnail of its own, from one "
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
      + "people look at), entropy (the most detail), or a point X,Y from 0,0 (upper left) to 1,1. "
      + "--crop alone keeps the centre.",
    impliedValue: "\(Crop.centre)",
    attachedWords: [Crop.centre, .attention, .entropy].map(\.description), attachesNumbers: true)
  private static let enlarge = OptionDescription(
    "--enlarge",
    help: "Enlarge pictures that are smaller than the box. Default: they stay small; a drawing "
      + "(SVG) fills the box.")
  private static let format = OptionDescription(
    "--format", "FORMAT",
    help: "auto, compatible, jpeg, png, webp, avif or gif; auto is WebP for animations and for "
      + "pictures with transparency, else JPEG; compatible is GIF, PNG and JPEG for the same. "
      + "Default: auto.")
  private static let quality = OptionDescription(
    "--quality", "Q",
    help: "The quality of the encoder, from 1 to 100; PNG and GIF ignore it. Default: 80.")
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
  private static let lenient = OptionDescription(
    "--lenient",
    help: "Accept a damaged JPEG, PNG, GIF, TIFF, BMP, ICO or PNM: its thumbnail shows what can be "
      + "decoded, and is marked as damaged. Default: it fails with corrupt_image.")

  /// The options that select a thumbnail.
  static let options = [size] + othersThanSize
  /// The options that select thumbnails of several sizes.
  static let optionsOfSeveral = [sizes] + othersThanSize

  private static let othersThanSize =
    [PixelRatio.option, mode, crop, enlarge, format, quality] + FrameOptions.options
    + EffectOptions.options
    + [embeddedUse, keepProfile, keepMetadata, keepCopyright, lenient]

  /// - Parameters:
  ///   - arguments: the arguments of a command that lists ``options``.
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

  static func isLenient(in arguments: ArgumentReader) -> Bool {
    arguments.contains(lenient)
  }

  /// - Parameter promised: the format if no option selects one.
  static func variant(
    in arguments: ArgumentReader, otherwiseAs promised: Variant.Format? = nil
  ) throws(UsageError) -> Variant {
    let standard = Variant.standard
    let ratio = try PixelRatio(in: arguments)
    let box = try boxes(in: arguments).first ?? (standard.width, standard.height)
    let crop = try arguments.value(of: crop, Crop.init(parsing:))
    let mode = try arguments.value(of: mode, Variant.Mode.init(parsing:))
    let format = try arguments.value(of: format, Variant.Format.init(parsing:))
    let quality = try arguments.value(of: quality) { (text) throws(InvalidValue) in
      try Int(parsing: text, in: Variant.qualityRange)
    }
    do {
      return try Variant(
        width: ratio.scaling(box.0), height: ratio.scaling(box.1),
        mode: mode ?? (crop == nil ? standard.mode : .fill), crop: crop,
        enlarges: arguments.contains(enlarge), format: format ?? promised ?? standard.format,
        quality: quality ?? standard.quality, frames: try FrameOptions.selection(in: arguments),
        embeddedUse: try arguments.value(of: embeddedUse, EmbeddedUse.init(parsing:)) ?? .auto,
        effects: try EffectOptions.effects(in: arguments, ratio),
        keptData: KeptData(
          profile: arguments.contains(keepProfile), metadata: arguments.contains(keepMetadata),
          copyright: arguments.contains(keepCopyright)))
    } catch let error as UsageError {
      throw error
    } catch {
      throw UsageError("\(error)")
    }
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
        let other = try variant.inBox(
          width: ratio.scaling(box.width), height: ratio.scaling(box.height))
        if !variants.contains(other) { variants.append(other) }
      } catch {
        throw UsageError("\(error)")
      }
    }
    guard variants.count <= Variant.maximumCount else {
      throw UsageError("--size: at most \(Variant.maximumCount) sizes")
    }
    return Array(variants.dropFirst())
  }

  private static func boxes(
    in arguments: ArgumentReader
  ) throws(UsageError) -> [(width: Int, height: Int)] {
    let option = arguments.lists(sizes) ? sizes : size
    do throws(InvalidValue) {
      return try (arguments.texts(of: option) ?? []).map { (text) throws(InvalidValue) in
        try box(text)
      }
    } catch {
      throw UsageError(option.flag, error)
    }
  }

  /// Reads `640x480`, or `256` for a square.
  private static func box(_ text: String) throws(InvalidValue) -> (width: Int, height: Int) {
    let sides = text.split(separator: "x", omittingEmptySubsequences: false).map(String.init)
    guard sides.count <= 2, !sides.contains("") else {
      throw InvalidValue("\(Spelling.quoted(text)) is not a box; write WxH, such as 640x480")
    }
    let width = try Int(parsing: sides[0], in: Variant.sideRange)
    return (width, sides.count == 2 ? try Int(parsing: sides[1], in: Variant.sideRange) : width)
  }
}

extension Crop {
  init(parsing text: String) throws(InvalidValue) {
    guard let crop = Crop(text) else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a part; write centre, attention, entropy, or a point "
          + "from 0 to 1 with up to three decimals, such as 0.5,0.25")
    }
    self = crop
  }
}

extension Int {
  /// Reads a whole number.
  init(parsing text: String, in range: ClosedRange<Int>) throws(InvalidValue) {
    let range = Int64(range.lowerBound)...Int64(range.upperBound)
    self.init(try UnitScale.count.value(parsing: text, in: range))
  }
}
