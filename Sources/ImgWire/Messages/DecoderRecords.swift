package import ImgModel

/// The thumbnails in the output memory's thumbnail area, one behind the other from its start, and their
/// source.
package struct RenderedFacts: Hashable, Sendable {
  /// As many as the request has variants, in their order.
  package let thumbnails: [Thumbnail]
  package let source: SourceFacts
  package let thumbHash: ThumbHash

  package init(thumbnails: [Thumbnail], source: SourceFacts, thumbHash: ThumbHash) {
    self.thumbnails = thumbnails
    self.source = source
    self.thumbHash = thumbHash
  }
}

extension RenderedFacts {
  private static let headCount = SourceFacts.numberCount + ThumbHash.numberCount

  /// Of a ``NumberRecord``: the source and its hash, then the thumbnails.
  var numbers: [UInt64] { source.numbers + thumbHash.numbers + thumbnails.flatMap(\.numbers) }

  /// The receiver checks the sizes.
  ///
  /// - Returns: `nil` if these are not the numbers of thumbnails, or no hash has that form.
  init?(numbers: [UInt64]) {
    let (count, rest) = (numbers.count - Self.headCount).quotientAndRemainder(
      dividingBy: Thumbnail.numberCount)
    guard (1...ImageVariant.maximumCount).contains(count), rest == 0,
      let source = SourceFacts(numbers: Array(numbers.prefix(SourceFacts.numberCount))),
      let thumbHash = ThumbHash(numbers: numbers[SourceFacts.numberCount..<Self.headCount])
    else { return nil }
    let thumbnails = (0..<count).compactMap { index in
      let start = Self.headCount + index * Thumbnail.numberCount
      return Thumbnail(numbers: Array(numbers[start..<start + Thumbnail.numberCount]))
    }
    guard thumbnails.count == count else { return nil }
    self.init(thumbnails: thumbnails, source: source, thumbHash: thumbHash)
  }
}

extension ThumbHash {
  private static let byteCountOfNumber = UInt64.bitWidth / UInt8.bitWidth
  /// Numbers that hold the longest hash.
  private static let wordCount = (maximumByteCount + byteCountOfNumber - 1) / byteCountOfNumber
  fileprivate static let numberCount = 1 + wordCount

  /// How many bytes there are, then the bytes, little-endian, with zeros behind them.
  fileprivate var numbers: [UInt64] {
    let words = (0..<Self.wordCount).map { index in
      bytes.dropFirst(index * Self.byteCountOfNumber).prefix(Self.byteCountOfNumber).reversed()
        .reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
    return [UInt64(bytes.count)] + words
  }

  fileprivate init?(numbers: ArraySlice<UInt64>) {
    let bytes = numbers.dropFirst().flatMap { number in
      (0..<Self.byteCountOfNumber).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    guard let first = numbers.first, let count = Int(exactly: first),
      count <= Self.maximumByteCount, bytes.dropFirst(count).allSatisfy({ $0 == 0 })
    else { return nil }
    self.init(bytes: Array(bytes.prefix(count)))
  }
}

extension SourceFacts {
  fileprivate static let numberCount = 5

  fileprivate var numbers: [UInt64] {
    [format.recordNumber, decodePath.recordNumber]
      + [width, height, frames].map { UInt64(truncatingIfNeeded: $0) }
  }

  fileprivate init?(numbers: [UInt64]) {
    guard let format = ImageFormat(recordNumber: numbers[0]),
      let decodePath = DecodePath(recordNumber: numbers[1])
    else { return nil }
    self.init(
      format: format, width: Int(truncatingIfNeeded: numbers[2]),
      height: Int(truncatingIfNeeded: numbers[3]), frames: Int(truncatingIfNeeded: numbers[4]),
      decodePath: decodePath)
  }
}

extension Thumbnail {
  fileprivate static let numberCount = 5

  fileprivate var numbers: [UInt64] {
    [format.recordNumber, isDamaged.recordNumber]
      + [width, height, byteCount].map { UInt64(truncatingIfNeeded: $0) }
  }

  fileprivate init?(numbers: [UInt64]) {
    guard let format = ImageFormat(recordNumber: numbers[0]),
      let isDamaged = Bool(recordNumber: numbers[1])
    else { return nil }
    self.init(
      format: format, width: Int(truncatingIfNeeded: numbers[2]),
      height: Int(truncatingIfNeeded: numbers[3]),
      byteCount: Int(truncatingIfNeeded: numbers[4]), isDamaged: isDamaged)
  }
}

/// A variant as a part of a ``NumberRecord``.
extension ImageVariant {
  /// How many ``numbers`` there are.
  static let numberCount = 22

  /// The box and the mode, the crop, the encoding, the frames, the effects, what is kept, how it is
  /// sharpened, and the size.
  var numbers: [UInt64] {
    [
      UInt64(width), UInt64(height), mode.recordNumber, enlarges.recordNumber,
      format.recordNumber, UInt64(quality), embeddedUse.recordNumber,
    ] + Self.numbers(of: crop) + Self.numbers(of: frames) + [
      effects.isGrayscale.recordNumber, UInt64(effects.blur.count), UInt64(effects.sharpen.count),
      UInt64(effects.radius), effects.background.map { UInt64($0.number) + 1 } ?? 0,
      keptData.profile.recordNumber | keptData.metadata.recordNumber << 1
        | keptData.copyright.recordNumber << 2,
      UInt64(effects.sharpenAmounts.flat.count), UInt64(effects.sharpenAmounts.edges.count),
      UInt64(sizing.density.count), UInt64(sizing.maximumPixelCount ?? 0),
      sizing.keepsDrawingSize.recordNumber,
    ]
  }

  /// - Returns: `nil` if these are not the numbers of a variant, which may be out of range.
  init?(numbers: ArraySlice<UInt64>) {
    let numbers = Array(numbers)
    guard numbers.count == Self.numberCount, numbers[16] <= 7,
      let mode = Mode(recordNumber: numbers[2]), let enlarges = Bool(recordNumber: numbers[3]),
      let format = Format(recordNumber: numbers[4]),
      let embeddedUse = EmbeddedUse(recordNumber: numbers[6]),
      let crop = Self.crop(kind: numbers[7], point: numbers[8]),
      let frames = Self.frames(kind: numbers[9], value: numbers[10]),
      let effects = Self.effects(numbers[11..<16], amounts: numbers[17..<19]),
      let sizing = Self.sizing(numbers[19..<22])
    else { return nil }
    self.init(
      width: Int(truncatingIfNeeded: numbers[0]), height: Int(truncatingIfNeeded: numbers[1]),
      mode: mode, crop: crop, enlarges: enlarges, format: format,
      quality: Int(truncatingIfNeeded: numbers[5]), frames: frames, effects: effects,
      keptData: KeptData(
        profile: numbers[16] & 1 != 0, metadata: numbers[16] & 2 != 0,
        copyright: numbers[16] & 4 != 0))
    self.embeddedUse = embeddedUse
    self.sizing = sizing
  }

  // MARK: - The crop: its kind, and a point as two numbers of 32 bits

  private static func numbers(of crop: Crop?) -> [UInt64] {
    switch crop {
    case nil: [0, 0]
    case .centre: [1, 0]
    case .attention: [2, 0]
    case .entropy: [3, 0]
    case .point(let x, let y): [4, UInt64(x.count) << 32 | UInt64(y.count)]
    }
  }

  /// - Returns: `nil` if these are not the numbers of a crop or of none.
  private static func crop(kind: UInt64, point: UInt64) -> Crop?? {
    switch (kind, point) {
    case (0, 0): return .some(nil)
    case (1, 0): return .centre
    case (2, 0): return .attention
    case (3, 0): return .entropy
    case (4, _):
      return .point(
        x: Thousandths(count: Int(point >> 32)), y: Thousandths(count: Int(point & 0xFFFF_FFFF)))
    default: return nil
    }
  }

  // MARK: - The frames: their kind, and a number or a time

  private static func numbers(of frames: Frames) -> [UInt64] {
    switch frames {
    case .first: [0, 0]
    case .number(let number): [1, UInt64(number)]
    case .time(let time): [2, UInt64(time.milliseconds)]
    case .poster: [3, 0]
    case .all: [4, 0]
    }
  }

  private static func frames(kind: UInt64, value: UInt64) -> Frames? {
    switch (kind, value) {
    case (0, 0): .first
    case (1, _): .number(Int(truncatingIfNeeded: value))
    case (2, _): .time(.milliseconds(Int64(truncatingIfNeeded: value)))
    case (3, 0): .poster
    case (4, 0): .all
    default: nil
    }
  }

  // MARK: - The effects

  private static func effects(
    _ numbers: ArraySlice<UInt64>, amounts: ArraySlice<UInt64>
  ) -> Effects? {
    let (numbers, amounts) = (Array(numbers), Array(amounts))
    guard let isGrayscale = Bool(recordNumber: numbers[0]),
      let blur = Int(exactly: numbers[1]), let sharpen = Int(exactly: numbers[2]),
      let flat = Int(exactly: amounts[0]), let edges = Int(exactly: amounts[1]),
      let radius = Int(exactly: numbers[3]),
      let background = background(numbers[4])
    else { return nil }
    var effects = Effects(
      isGrayscale: isGrayscale, blur: Thousandths(count: blur),
      sharpen: Thousandths(count: sharpen), radius: radius, background: background)
    effects.sharpenAmounts = SharpenAmounts(
      flat: Thousandths(count: flat), edges: Thousandths(count: edges))
    return effects
  }

  // MARK: - The size: a density, a limit or 0, a mark

  private static func sizing(_ numbers: ArraySlice<UInt64>) -> Sizing? {
    let numbers = Array(numbers)
    guard let density = Int(exactly: numbers[0]), let limit = Int(exactly: numbers[1]),
      let keepsDrawingSize = Bool(recordNumber: numbers[2])
    else { return nil }
    return Sizing(
      density: Thousandths(count: density), maximumPixelCount: limit == 0 ? nil : limit,
      keepsDrawingSize: keepsDrawingSize)
  }

  /// - Returns: `nil` if the number is neither that of a colour nor that of none.
  private static func background(_ number: UInt64) -> RGBColour?? {
    if number == 0 { return .some(nil) }
    guard let colour = RGBColour(number: number - 1) else { return nil }
    return colour
  }
}
