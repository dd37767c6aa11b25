package import ImgModel

/// The tracks of a HEIF or AVIF file whose pictures follow each other in time.
package struct PictureSequence {
  package let colours: SequenceTrack
  /// The transparency of each picture, if it has any.
  package let alpha: SequenceTrack?
  /// Whether the colours were multiplied by the transparency.
  package let isPremultiplied: Bool

  package var frameCount: Int { colours.samples.count }

  init(movie: ISOMediaBox) throws(FactsError) {
    let tracks = try ISOMediaTrack.all(in: movie)
    guard let pictures = tracks.first(where: \.showsPictures),
      let entry = try pictures.firstSampleEntry()
    else { throw .unsupported("a sequence without a track of pictures") }
    colours = try SequenceTrack(pictures, VisualSampleEntry(entry))
    guard let alpha = try Self.alpha(of: pictures, in: tracks) else {
      (self.alpha, isPremultiplied) = (nil, false)
      return
    }
    self.alpha = alpha.track
    isPremultiplied = try pictures.references("prem").contains(alpha.number)
    guard (alpha.track.width, alpha.track.height) == (colours.width, colours.height) else {
      throw .invalid("the transparency has another size than the colours")
    }
    guard alpha.track.samples.count == frameCount else {
      throw .invalid("\(frameCount) pictures have \(alpha.track.samples.count) of transparency")
    }
  }

  private static func alpha(
    of pictures: ISOMediaTrack, in tracks: [ISOMediaTrack]
  ) throws(FactsError) -> (track: SequenceTrack, number: Int)? {
    let number = try pictures.head().number
    for track in tracks where track.handler == "auxv" {
      guard try track.references("auxl").contains(number), let box = try track.firstSampleEntry()
      else { continue }
      let entry = try VisualSampleEntry(box)
      guard let type = try entry.auxiliaryType(), HEIFImage.alphaTypes.contains(type) else {
        continue
      }
      return (try SequenceTrack(track, entry, isTransparency: true), try track.head().number)
    }
    return nil
  }
}

/// A HEIF or AVIF file whose pictures follow each other in time.
package struct SequenceFile {
  /// Whether it has a picture for readers that show no sequence.
  package let hasStill: Bool
  private let movie: ISOMediaBox?

  /// - Parameter source: has all bytes of the file.
  /// - Returns: `nil` for other files.
  package init?(_ source: any ByteSource, as format: ImageFormat) {
    let window = ByteWindow(source)
    guard [.avif, .heif].contains(format),
      let brand = try? window.fields(at: 8, count: 4).name(0), HEIFBrand.isSequence(brand)
    else { return nil }
    var (boxes, hasStill, movie) = (ISOMediaBoxes(window), false, ISOMediaBox?.none)
    while !hasStill || movie == nil, let box = try? boxes.next() {
      switch box.type {
      case "meta" where !hasStill: hasStill = (try? HEIFItems(meta: box, in: window)) != nil
      case "moov" where movie == nil: movie = box
      default: break
      }
    }
    (self.hasStill, self.movie) = (hasStill, movie)
  }

  /// - Throws: ``FactsError/unsupported(_:)`` for a codec that is not decoded, or another error for a
  ///   damaged file. The brand promises a movie, so that a file without one was cut before it.
  package func sequence() throws(FactsError) -> PictureSequence {
    guard let movie else {
      throw .invalid("a sequence without its moov box; its end may be missing")
    }
    return try PictureSequence(movie: movie)
  }
}

/// What a decoder needs to know of a track of pictures.
package struct SequenceTrack {
  /// How the samples are encoded.
  package enum Codec: Sendable {
    case av1
    case hevc(HEVCConfiguration)

    /// Transparency takes all values of a sample (ISO/IEC 23000-22 section 7.3.5.2). A stream of HEVC
    /// without a declared range is taken as limited, whereas one of AV1 always declares it.
    fileprivate var codePointsOfTransparency: ColourCodePoints? {
      guard case .hevc = self else { return nil }
      let unspecified = 2
      return ColourCodePoints(
        primaries: unspecified, transfer: unspecified, matrix: unspecified, isFullRange: true)
    }
  }

  package let codec: Codec
  /// Pixels of a picture, as it is decoded.
  package let width: Int
  package let height: Int
  /// The part of them that is shown; `nil` for all.
  package let shownArea: PixelArea?
  /// How the shown pixels are turned and mirrored: 1…8 as in EXIF.
  package let orientation: Int
  /// What the file says of the colours; `nil` if only the stream does.
  package let codePoints: ColourCodePoints?
  package let profile: [UInt8]?
  /// Where the samples lie in the file, in the order in which they are decoded.
  package let samples: [Range<Int>]

  /// - Parameter isTransparency: whether the samples are that of another track's pictures.
  /// - Throws: also ``FactsError/unsupported(_:)`` for a codec that is not decoded.
  init(
    _ track: ISOMediaTrack, _ entry: VisualSampleEntry, isTransparency: Bool = false
  ) throws(FactsError) {
    switch entry.type {
    case "av01": codec = .av1
    case "hvc1", "hev1":
      guard let box = entry.box("hvcC") else { throw .invalid("HEVC is not configured") }
      codec = .hevc(try HEVCConfiguration(box))
    default: throw .unsupported("a sequence in \(entry.type)")
    }
    guard entry.width > 0, entry.height > 0 else { throw .invalid("a track has no size") }
    (width, height) = (entry.width, entry.height)
    let image = try entry.image()
    shownArea = image.aperture?.area(inWidth: width, height: height)
    orientation = image.orientation.followed(by: try track.head().orientation).number
    codePoints = image.codePoints ?? (isTransparency ? codec.codePointsOfTransparency : nil)
    profile = try image.profile.flatMap { (window) throws(FactsError) in
      try window.bytes(at: 0, count: window.byteCount)
    }
    samples = try SampleTable(of: track).samples
    guard !samples.isEmpty else { throw .invalid("a track has no sample") }
  }
}

/// How HEVC is put into a file (ISO/IEC 14496-15 section 8.3.3).
package struct HEVCConfiguration: Sendable {
  /// More than any stream has.
  private static let maximumParameterSetCount = 64

  /// Bytes of the length that stands before each unit of a sample: 1…4.
  package let lengthByteCount: Int
  /// Units that come before those of the first sample.
  package private(set) var parameterSets: [[UInt8]] = []

  init(_ box: ISOMediaBox) throws(FactsError) {
    let head = try box.payload.fields(at: 0, count: 23)
    lengthByteCount = head.u8(21) & 3 + 1
    var offset = 23
    for _ in 0..<head.u8(22) {
      let count = try box.payload.fields(at: offset, count: 3).u16(1)
      offset += 3
      for _ in 0..<count {
        guard parameterSets.count < Self.maximumParameterSetCount else {
          throw .unsupported("HEVC with more than \(Self.maximumParameterSetCount) parameter sets")
        }
        let byteCount = try box.payload.fields(at: offset, count: 2).u16(0)
        parameterSets.append(try box.payload.fields(at: offset + 2, count: byteCount).bytes)
        offset += 2 + byteCount
      }
    }
  }
}

/// The sequence header of an AV1 stream (AV1 Bitstream & Decoding Process Specification section 5.5).
package enum AV1SequenceHeader {
  private static let unspecified = ColourCodePoints.unspecified
  private static let professional = 2
  private static let high = 1

  /// How the samples stand for colours.
  ///
  /// - Parameter units: open bitstream units, the sequence header first.
  /// - Returns: `nil` where that cannot be told.
  package static func codePoints(in units: [UInt8]) -> ColourCodePoints? {
    guard let first = units.first, first >> 3 & 0x0F == 1 else { return nil }
    // A byte of extension and a length of one byte may come before the header itself.
    let hasExtension = first & 0x04 != 0
    let hasLength = first & 0x02 != 0
    var bits = MostBitsFirst(
      Array(units.dropFirst(1 + (hasExtension ? 1 : 0) + (hasLength ? 1 : 0))))
    let profile = bits.bits(3)
    bits.skip(1)
    let isReduced = bits.flag()
    guard skipOperatingPoints(&bits, isReduced: isReduced) else { return nil }
    skipTools(&bits, isReduced: isReduced)
    let codePoints = colours(&bits, profile: profile)
    return bits.isWithin ? codePoints : nil
  }

  /// - Returns: `false` for a stream that says when its frames are decoded.
  private static func skipOperatingPoints(_ bits: inout MostBitsFirst, isReduced: Bool) -> Bool {
    guard !isReduced else {
      bits.skip(5)
      return true
    }
    guard !bits.flag() else { return false }
    let hasDelay = bits.flag()
    for _ in 0...bits.bits(5) {
      bits.skip(12)
      // Levels above 7 have a tier.
      if bits.bits(5) > 7 { bits.skip(1) }
      if hasDelay, bits.flag() { bits.skip(4) }
    }
    return true
  }

  /// The size, and which tools of prediction and which filters are used.
  private static func skipTools(_ bits: inout MostBitsFirst, isReduced: Bool) {
    let (width, height) = (bits.bits(4), bits.bits(4))
    bits.skip(width + height + 2)
    if !isReduced, bits.flag() { bits.skip(7) }
    bits.skip(3)
    if !isReduced { skipToolsOfFilms(&bits) }
    bits.skip(3)
  }

  private static func skipToolsOfFilms(_ bits: inout MostBitsFirst) {
    bits.skip(4)
    let hasOrder = bits.flag()
    if hasOrder { bits.skip(2) }
    let usesScreenTools = bits.flag() || bits.flag()
    if usesScreenTools, !bits.flag() { bits.skip(1) }
    if hasOrder { bits.skip(3) }
  }

  /// Section 5.5.2.
  private static func colours(_ bits: inout MostBitsFirst, profile: Int) -> ColourCodePoints {
    let isDeep = bits.flag()
    if profile == professional, isDeep { bits.skip(1) }
    let isGray = profile != high && bits.flag()
    let isDescribed = bits.flag()
    let primaries = isDescribed ? bits.bits(8) : unspecified
    let transfer = isDescribed ? bits.bits(8) : unspecified
    let matrix = isDescribed ? bits.bits(8) : unspecified
    let described = ColourCodePoints(
      primaries: primaries, transfer: transfer, matrix: matrix, isFullRange: true)
    if !isGray, described == .sRGB { return .sRGB }
    return ColourCodePoints(
      primaries: primaries, transfer: transfer, matrix: matrix, isFullRange: bits.flag())
  }
}

/// The sequence parameter set of an HEVC stream (ITU-T H.265 section 7.3.2.2), as far as its colours.
package enum HEVCSequenceParameters {
  private static let unitType = 33
  private static let extendedShape = 255
  /// More than the specification allows.
  private static let maximumCount = 64

  /// How the samples stand for colours.
  ///
  /// - Parameter unit: with its header of two bytes.
  /// - Returns: `nil` for another unit, and for one that does not say it.
  package static func codePoints(in unit: [UInt8]) -> ColourCodePoints? {
    guard unit.count > 2, Int(unit[0]) >> 1 & 0x3F == unitType else { return nil }
    var bits = MostBitsFirst(withoutEmulationPrevention(unit.dropFirst(2)))
    guard skipCoding(&bits) else { return nil }
    guard bits.flag() else { return nil }
    let codePoints = colours(&bits)
    return bits.isWithin ? codePoints : nil
  }

  /// Section 7.4.2: a 3 behind two zeros is no part of the data.
  private static func withoutEmulationPrevention(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var (result, zeros) = ([UInt8](), 0)
    for byte in bytes {
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      result.append(byte)
    }
    return result
  }

  /// All before what is said of the use of the pictures (VUI).
  ///
  /// - Returns: `false` for what no stream has.
  private static func skipCoding(_ bits: inout MostBitsFirst) -> Bool {
    bits.skip(4)
    let layers = bits.bits(3)
    bits.skip(1)
    skipLevels(&bits, layers: layers)
    _ = bits.exponential()
    if bits.exponential() == 3 { bits.skip(1) }
    _ = (bits.exponential(), bits.exponential())
    if bits.flag() { for _ in 0..<4 { _ = bits.exponential() } }
    _ = (bits.exponential(), bits.exponential())
    let orderBitCount = bits.exponential() + 4
    for _ in (bits.flag() ? 0 : layers)...layers {
      for _ in 0..<3 { _ = bits.exponential() }
    }
    for _ in 0..<6 { _ = bits.exponential() }
    if bits.flag(), bits.flag() { skipScalingLists(&bits) }
    bits.skip(2)
    if bits.flag() {
      bits.skip(8)
      _ = (bits.exponential(), bits.exponential())
      bits.skip(1)
    }
    guard skipReferences(&bits, orderBitCount: orderBitCount) else { return false }
    bits.skip(2)
    return bits.isWithin
  }

  /// Section 7.3.3.
  private static func skipLevels(_ bits: inout MostBitsFirst, layers: Int) {
    bits.skip(88 + 8)
    let present = (0..<layers).map { _ in (bits.flag(), bits.flag()) }
    if layers > 0 { bits.skip(2 * (8 - layers)) }
    for (hasProfile, hasLevel) in present {
      bits.skip((hasProfile ? 88 : 0) + (hasLevel ? 8 : 0))
    }
  }

  /// Section 7.3.4.
  private static func skipScalingLists(_ bits: inout MostBitsFirst) {
    for size in 0..<4 {
      for _ in stride(from: 0, to: 6, by: size == 3 ? 3 : 1) {
        guard bits.flag() else {
          _ = bits.exponential()
          continue
        }
        if size > 1 { _ = bits.exponential() }
        for _ in 0..<min(64, 1 << (4 + size << 1)) { _ = bits.exponential() }
      }
    }
  }

  /// Sets of pictures that others are predicted from (section 7.3.7).
  private static func skipReferences(_ bits: inout MostBitsFirst, orderBitCount: Int) -> Bool {
    let count = bits.exponential()
    guard count <= maximumCount, orderBitCount <= 16 else { return false }
    var previous = 0
    for index in 0..<count {
      guard index == 0 || !bits.flag() else {
        bits.skip(1)
        _ = bits.exponential()
        var kept = 0
        for _ in 0...previous where bits.flag() || bits.flag() { kept += 1 }
        previous = kept
        continue
      }
      previous = bits.exponential() + bits.exponential()
      guard previous <= maximumCount else { return false }
      for _ in 0..<previous {
        _ = bits.exponential()
        bits.skip(1)
      }
    }
    guard bits.flag() else { return true }
    let longTermCount = bits.exponential()
    guard longTermCount <= maximumCount else { return false }
    bits.skip(longTermCount * (orderBitCount + 1))
    return true
  }

  /// Annex E.2.1.
  private static func colours(_ bits: inout MostBitsFirst) -> ColourCodePoints? {
    if bits.flag(), bits.bits(8) == extendedShape { bits.skip(32) }
    if bits.flag() { bits.skip(1) }
    guard bits.flag() else { return nil }
    bits.skip(3)
    let isFullRange = bits.flag()
    let isDescribed = bits.flag()
    let number = { (bits: inout MostBitsFirst) in
      isDescribed ? bits.bits(8) : ColourCodePoints.unspecified
    }
    return ColourCodePoints(
      primaries: number(&bits), transfer: number(&bits), matrix: number(&bits),
      isFullRange: isFullRange)
  }
}

/// Bits of a video stream: the most significant bit of a byte comes first. Behind the end every bit is 0,
/// and ``isWithin`` tells it.
struct MostBitsFirst {
  private let bytes: [UInt8]
  /// In bits.
  private var position = 0

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Whether all bits that were read are there.
  var isWithin: Bool { position <= bytes.count * 8 }

  /// A number of up to 32 bits.
  mutating func bits(_ count: Int) -> Int {
    var value = 0
    for _ in 0..<count {
      let byte = position / 8 < bytes.count ? Int(bytes[position / 8]) : 0
      value = value << 1 | byte >> (7 - position % 8) & 1
      position += 1
    }
    return value
  }

  mutating func flag() -> Bool { bits(1) == 1 }

  mutating func skip(_ count: Int) { position += count }

  /// ue(v): as many zeros as bits follow behind a one (ITU-T H.265 section 9.2).
  mutating func exponential() -> Int {
    var zeros = 0
    while zeros < 32, isWithin, !flag() { zeros += 1 }
    return 1 << zeros - 1 + bits(zeros)
  }
}
