import ImgModel

/// Reads a HEIF or AVIF file: its primary item, and the track of a sequence.
struct HEIFFacts {
  private let window: ByteWindow
  private let format: ImageFormat
  private let extent: FactsExtent

  static func facts(
    in window: ByteWindow, as format: ImageFormat, _ extent: FactsExtent
  ) throws(FactsError) -> PictureFacts {
    try HEIFFacts(window: window, format: format, extent: extent).facts()
  }

  private init(window: ByteWindow, format: ImageFormat, extent: FactsExtent) {
    (self.window, self.format, self.extent) = (window, format, extent)
  }

  private func facts() throws(FactsError) -> PictureFacts {
    let isSequence = HEIFBrand.isSequence(try window.fields(at: 8, count: 4).name(0))
    var items: HEIFItems?
    var track: HEIFTrack?
    var boxes = ISOMediaBoxes(window)
    // A sequence may have items, too: they are the picture of it that is shown at first.
    while items == nil && track == nil || isSequence && track == nil && extent > .header {
      // Each file of a brand has what belongs to it.
      guard let box = try boxes.next() else { throw .truncated }
      switch box.type {
      case "meta": items = try HEIFItems(meta: box, in: window)
      case "moov": track = try HEIFTrack(movie: box)
      default: break
      }
    }
    var facts: PictureFacts
    if let items {
      facts = try self.facts(of: items)
    } else if let track {
      facts = PictureFacts(format: format, width: track.width, height: track.height)
      facts.setOrientation(
        track.orientation.number, of: track.shownArea.map { ($0.width, $0.height) })
      facts.encoding = track.codec?.name
      facts.bitsPerSample = track.codec?.bitsPerSample
      facts.codePoints = track.codePoints
      facts.colours = Self.colours(track.codePoints, hasProfile: track.hasProfile)
    } else {
      throw .invalid("no picture in the file")
    }
    facts.isAnimated = isSequence
    if !isSequence { facts.frameCount = 1 }
    if extent > .header, isSequence, let track {
      facts.setFrames(delays: track.delays)
      facts.loopCount = track.loopCount
    }
    return facts
  }

  // MARK: - Items

  private func facts(of items: HEIFItems) throws(FactsError) -> PictureFacts {
    let image = try HEIFImage(items.properties(of: items.primary))
    guard image.width > 0, image.height > 0 else { throw .invalid("the picture has no size") }
    var facts = PictureFacts(format: format, width: image.width, height: image.height)
    facts.setOrientation(image.orientation.number, of: image.aperture.map { ($0.width, $0.height) })
    facts.hasAlpha = try hasAlpha(items)
    try addSamples(of: image, items, to: &facts)
    guard extent > .header else { return facts }
    if let profile = image.profile {
      facts.profileDescription = try ICCDescription.text(in: profile)
    }
    try addMetadata(of: items, to: &facts)
    facts.thumbnail = try thumbnail(of: items)
    return facts
  }

  private static func colours(
    _ codePoints: ColourCodePoints?, hasProfile: Bool
  ) -> ColourDescription? {
    if hasProfile { return ColourDescription(profileBeside: codePoints) }
    guard let codePoints, codePoints.describesColours else { return nil }
    return ColourDescription(codePoints)
  }

  /// Transparency is a picture of its own.
  private func hasAlpha(_ items: HEIFItems) throws(FactsError) -> Bool {
    for item in items.items("auxl", referringTo: items.primary).prefix(16) {
      let type = try HEIFImage(items.properties(of: item)).auxiliaryType
      if let type, HEIFImage.alphaTypes.contains(type) { return true }
    }
    return false
  }

  /// A picture made of tiles has the codec of its tiles. What the file says of the colours goes before what
  /// the stream says (ISO/IEC 14496-12 section 12.1.5).
  private func addSamples(
    of image: HEIFImage, _ items: HEIFItems, to facts: inout PictureFacts
  ) throws(FactsError) {
    let tile = items.items("dimg", referredBy: items.primary).first
    let first = try tile.map { (tile) throws(FactsError) in
      try HEIFImage(items.properties(of: tile))
    }
    let codec = image.codec ?? first?.codec
    let profile = image.profile ?? first?.profile
    facts.codePoints = image.codePoints ?? first?.codePoints ?? codec?.codePoints
    facts.colours = Self.colours(facts.codePoints, hasProfile: profile != nil)
    let type = items.types[tile ?? items.primary]
    facts.encoding = codec?.name ?? type.flatMap { HEIFCodec.name(ofItemType: $0) }
    facts.bitsPerSample = image.bits.first ?? codec?.bitsPerSample
    let isGray = image.bits.isEmpty ? codec?.isGray ?? false : image.bits.count == 1
    facts.bands = (isGray ? 1 : 3) + (facts.hasAlpha == true ? 1 : 0)
    facts.colourModel = isGray ? .gray : facts.codePoints?.matrix == 0 ? .rgb : .ycbcr
  }

  private func addMetadata(
    of items: HEIFItems, to facts: inout PictureFacts
  ) throws(FactsError) {
    let descriptions = items.items("cdsc", referringTo: items.primary)
    for item in descriptions.prefix(16) {
      switch items.types[item] {
      case "Exif" where facts.exif == nil:
        // The offset of the byte order behind this number (ISO/IEC 23008-12 annex A.2.1).
        guard let window = try items.window(of: item),
          let offset = try window.fieldsIfInside(at: 0, count: 4)?.u32(0)
        else { continue }
        try EXIFBlock(window.part(from: 4 + offset))?.read(into: &facts)
      case "application/rdf+xml" where facts.xmp == nil:
        if let window = try items.window(of: item) { facts.xmp = try XMPFacts(in: window) }
      default: break
      }
    }
  }

  private func thumbnail(of items: HEIFItems) throws(FactsError) -> EmbeddedThumbnail? {
    guard let item = items.items("thmb", referringTo: items.primary).first else { return nil }
    let image = try HEIFImage(items.properties(of: item))
    guard image.width > 0, image.height > 0 else { return nil }
    guard items.types[item] == "jpeg" else {
      return EmbeddedThumbnail(format: format, width: image.width, height: image.height)
    }
    let window = try items.window(of: item)
    let range = window.flatMap { $0.fileRange(at: 0, count: $0.byteCount) }
    return EmbeddedThumbnail(
      format: .jpeg, width: image.width, height: image.height, byteOffset: range?.lowerBound,
      byteCount: range?.count)
  }
}

/// The major brand of a HEIF or AVIF file (ISO/IEC 14496-12 section 4.3).
package enum HEIFBrand {
  /// Those of files whose pictures follow each other in time (ISO/IEC 23008-12 annex B, AVIF
  /// section 6).
  private static let sequences: Set = ["avis", "msf1", "hevc", "hevx", "hevm", "hevs"]

  package static func isSequence(_ brand: String) -> Bool { sequences.contains(brand) }
}

/// What the properties of an item say of its picture (ISO/IEC 23008-12 section 6.5).
struct HEIFImage {
  /// What an auxiliary picture says it is, if it is the transparency of another.
  static let alphaTypes = [
    "urn:mpeg:mpegB:cicp:systems:auxiliary:alpha", "urn:mpeg:hevc:2015:auxid:1",
  ]
  static let longestAuxiliaryType = 128

  private(set) var width = 0
  private(set) var height = 0
  /// The part that is shown.
  private(set) var aperture: CleanAperture?
  private(set) var orientation = PictureOrientation()
  private(set) var bits: [Int] = []
  private(set) var codec: HEIFCodec?
  private(set) var codePoints: ColourCodePoints?
  private(set) var profile: ByteWindow?
  private(set) var auxiliaryType: String?

  init(_ properties: [ISOMediaBox]) throws(FactsError) {
    for property in properties { try read(property) }
  }

  private mutating func read(_ property: ISOMediaBox) throws(FactsError) {
    let payload = property.payload
    switch property.type {
    case "ispe":
      let fields = try payload.fields(at: 4, count: 8)
      (width, height) = (fields.u32(0), fields.u32(4))
    case "clap": aperture = try CleanAperture(payload)
    case "irot": orientation.turnLeft(try payload.fields(at: 0, count: 1).u8(0) & 3)
    case "imir":
      // 0 exchanges top and bottom, 1 left and right.
      if try payload.fields(at: 0, count: 1).u8(0) & 1 == 0 {
        orientation.exchangeTopAndBottom()
      } else {
        orientation.exchangeLeftAndRight()
      }
    case "pixi":
      let count = try payload.fields(at: 4, count: 1).u8(0)
      bits = try payload.fields(at: 5, count: count).bytes.map { Int($0) }
    case "colr": try readColour(payload)
    case "auxC":
      auxiliaryType = MetadataText.text(try payload.bytes(at: 4, upTo: Self.longestAuxiliaryType))
    default: if codec == nil { codec = try HEIFCodec(property) }
    }
  }

  /// ISO/IEC 14496-12 section 12.1.5.
  private mutating func readColour(_ payload: ByteWindow) throws(FactsError) {
    let type = try payload.fields(at: 0, count: 4).name(0)
    if type == "nclx", codePoints == nil {
      let fields = try payload.fields(at: 4, count: 7)
      codePoints = ColourCodePoints(
        primaries: fields.u16(0), transfer: fields.u16(2), matrix: fields.u16(4),
        isFullRange: fields.u8(6) & 0x80 != 0)
    } else if ["prof", "rICC"].contains(type), profile == nil {
      profile = payload.part(from: 4)
    }
  }
}

/// What the configuration of a codec tells.
struct HEIFCodec {
  let name: String
  let bitsPerSample: Int?
  let isGray: Bool
  /// What the stream says of its colours.
  let codePoints: ColourCodePoints?

  /// More than a sequence header has.
  private static let longestHeader = 64

  private static let names = [
    "hvc1": "hevc", "hev1": "hevc", "av01": "av1", "avc1": "avc", "jpeg": "jpeg",
    "j2k1": "jpeg 2000", "unci": "uncompressed", "vvc1": "vvc",
  ]

  /// The name for the type of an item.
  static func name(ofItemType type: String) -> String? { names[type] }

  /// - Returns: `nil` for a box that configures no codec.
  init?(_ box: ISOMediaBox) throws(FactsError) {
    switch box.type {
    case "av1C":
      // AV1 Codec ISO Media File Format Binding section 2.3.3.
      let flags = try box.payload.fields(at: 2, count: 1).u8(0)
      name = "av1"
      bitsPerSample = flags & 0x40 == 0 ? 8 : flags & 0x20 == 0 ? 10 : 12
      isGray = flags & 0x10 != 0
      codePoints = AV1SequenceHeader.codePoints(
        in: try box.payload.bytes(at: 4, upTo: Self.longestHeader))
    case "hvcC":
      // ISO/IEC 14496-15 section 8.3.3.
      let fields = try box.payload.fields(at: 16, count: 2)
      name = "hevc"
      bitsPerSample = fields.u8(1) & 7 + 8
      isGray = fields.u8(0) & 3 == 0
      codePoints = try Self.codePoints(ofHEVC: box)
    default: return nil
    }
  }

  /// - Returns: `nil` also where the configuration is damaged, which the decoder will tell.
  private static func codePoints(ofHEVC box: ISOMediaBox) throws(FactsError) -> ColourCodePoints? {
    do throws(FactsError) {
      let units = try HEVCConfiguration(box).parameterSets
      return units.lazy.compactMap { HEVCSequenceParameters.codePoints(in: $0) }.first
    } catch {
      if case .needsBytes = error { throw error }
      return nil
    }
  }
}

/// The frames of a sequence as its first track of pictures tells them (ISO/IEC 14496-12 section 8).
struct HEIFTrack {
  let width: Int
  let height: Int
  /// The part of the pictures that is shown; `nil` for all.
  let shownArea: PixelArea?
  let orientation: PictureOrientation
  let codec: HEIFCodec?
  let codePoints: ColourCodePoints?
  let hasProfile: Bool
  /// In milliseconds.
  let delays: [Double]
  /// 0 means forever; `nil` when the file does not say it.
  let loopCount: Int?

  /// - Returns: `nil` when no track has pictures.
  init?(movie: ISOMediaBox) throws(FactsError) {
    guard let track = try ISOMediaTrack.all(in: movie).first(where: \.showsPictures),
      let times = try track.table("stts")
    else { return nil }
    let head = try track.head()
    if let box = try track.firstSampleEntry() {
      let entry = try VisualSampleEntry(box)
      (width, height) = (entry.width, entry.height)
      let image = try entry.image()
      codec = image.codec
      (codePoints, hasProfile) = (image.codePoints ?? image.codec?.codePoints, image.profile != nil)
      shownArea = image.aperture?.area(inWidth: width, height: height)
      orientation = image.orientation.followed(by: head.orientation)
    } else {
      (width, height) = (head.width, head.height)
      (codec, shownArea, orientation) = (nil, nil, head.orientation)
      (codePoints, hasProfile) = (nil, false)
    }
    guard width > 0, height > 0 else { return nil }
    let scale = try track.timescale()
    guard scale > 0 else { return nil }
    let ticks = try SampleTimes(decoding: times, offsets: track.table("ctts")).durations
    delays = ticks.map { Double($0) * 1_000 / Double(scale) }
    loopCount = try Self.loopCount(of: track.box, trackDuration: head.duration)
  }

  /// An edit list that repeats does so until the track ends (section 8.6.6).
  private static func loopCount(
    of track: ISOMediaBox, trackDuration: Int?
  ) throws(FactsError) -> Int? {
    guard let edits = try ISOMediaBoxes(track.payload).first("edts"),
      let list = try ISOMediaBoxes(edits.payload).first("elst")
    else { return nil }
    let isLong = try list.version() == 1
    let fields = try list.payload.fields(at: 0, count: 16)
    guard fields.u8(3) & 1 != 0 else { return 1 }
    guard let trackDuration else { return 0 }
    let segment = isLong ? fields.u64(8) : fields.u32(8)
    guard segment > 0 else { return nil }
    return (trackDuration / segment) + (trackDuration % segment == 0 ? 0 : 1)
  }
}

/// The part of a picture that is shown (ISO/IEC 14496-12 section 12.1.4).
struct CleanAperture {
  private static let byteCount = 32

  let width: Int
  let height: Int
  /// How far its centre lies to the right of that of the picture, and below it.
  private let offset: (x: Double, y: Double)

  /// - Returns: `nil` for a part without a pixel.
  init?(_ payload: ByteWindow) throws(FactsError) {
    let fields = try payload.fields(at: 0, count: Self.byteCount)
    let numbers = stride(from: 0, to: Self.byteCount, by: 8).map { start in
      (
        numerator: Int(Int32(truncatingIfNeeded: fields.u32(start))),
        denominator: fields.u32(start + 4)
      )
    }
    guard numbers.allSatisfy({ $0.denominator > 0 }) else { return nil }
    width = numbers[0].numerator / numbers[0].denominator
    height = numbers[1].numerator / numbers[1].denominator
    guard width > 0, height > 0 else { return nil }
    let offsets = numbers[2...].map { Double($0.numerator) / Double($0.denominator) }
    offset = (offsets[0], offsets[1])
  }

  /// - Returns: `nil` unless all of it lies in the picture.
  func area(inWidth pictureWidth: Int, height pictureHeight: Int) -> PixelArea? {
    let left = (Double(pictureWidth - width) / 2 + offset.x).rounded(.down)
    let top = (Double(pictureHeight - height) / 2 + offset.y).rounded(.down)
    guard left >= 0, top >= 0, left <= Double(pictureWidth - width),
      top <= Double(pictureHeight - height)
    else { return nil }
    return PixelArea(left: Int(left), top: Int(top), width: width, height: height)
  }
}

/// A rectangle of pixels in a picture.
package struct PixelArea: Equatable, Sendable {
  package let left: Int
  package let top: Int
  package let width: Int
  package let height: Int
}

/// How stored pixels are turned and mirrored, put together from single steps.
struct PictureOrientation {
  /// Where the stored directions to the right and down point, as (right, down).
  private var right: (Int, Int)
  private var down: (Int, Int)

  init(right: (Int, Int) = (1, 0), down: (Int, Int) = (0, 1)) {
    (self.right, self.down) = (right, down)
  }

  /// - Parameter quarters: of a turn against the clock.
  mutating func turnLeft(_ quarters: Int) {
    for _ in 0..<quarters {
      right = (right.1, -right.0)
      down = (down.1, -down.0)
    }
  }

  mutating func exchangeTopAndBottom() {
    right.1 = -right.1
    down.1 = -down.1
  }

  mutating func exchangeLeftAndRight() {
    right.0 = -right.0
    down.0 = -down.0
  }

  /// Both, one after the other.
  func followed(by next: PictureOrientation) -> PictureOrientation {
    let turned = { (direction: (Int, Int)) in
      (
        direction.0 * next.right.0 + direction.1 * next.down.0,
        direction.0 * next.right.1 + direction.1 * next.down.1
      )
    }
    return PictureOrientation(right: turned(right), down: turned(down))
  }

  /// By the numbers of CIPA DC-008, "Orientation".
  var number: Int {
    switch (right, down) {
    case ((-1, 0), (0, 1)): 2
    case ((-1, 0), (0, -1)): 3
    case ((1, 0), (0, -1)): 4
    case ((0, 1), (1, 0)): 5
    case ((0, 1), (-1, 0)): 6
    case ((0, -1), (-1, 0)): 7
    case ((0, -1), (1, 0)): 8
    default: 1
    }
  }
}
