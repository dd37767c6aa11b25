import ImgModel

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
