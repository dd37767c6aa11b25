import ImgFacts
import ImgModel

/// What a file says of its colours without a profile, where that counts more than a profile in it, as a
/// profile.
enum DescribedColours {
  case sRGB
  case other(rgb: [UInt8], gray: [UInt8])

  /// A decoder of JPEG XL and of other formats makes a profile by itself, of all but HDR.
  ///
  /// - Returns: `nil` for colours that only a profile describes, and for those that nothing does.
  init?(_ input: PictureInput, as format: ImageFormat) {
    guard [.png, .avif, .heif, .jxl].contains(format),
      let facts = try? PictureFacts.reading(input, .header)
    else { return nil }
    switch facts.colours?.origin {
    case .codePoints:
      guard let codePoints = facts.codePoints, format != .jxl || codePoints.isHDR else {
        return nil
      }
      self.init(codePoints, asStored: format == .png)
    case .gamma:
      guard let gamma = facts.gamma else { return nil }
      self.init(gamma: gamma, facts.chromaticities)
    case .profile, .standard, nil: return nil
    }
  }

  /// What is unspecified counts as that of sRGB, as browsers take it.
  ///
  /// - Parameter asStored: whether the samples still have the range that the file says; a decoder of
  ///   video has brought them to the full one.
  init(_ codePoints: ColourCodePoints, asStored: Bool = false) {
    let space = Chromaticities(primaries: codePoints.primaries).flatMap(RGBSpace.init(checking:))
    let isLimited = asStored && !codePoints.isFullRange
    // As Chromium has it: levels of television in AVIF and HEIC are those of sRGB, in a PNG those of BT.1886.
    let curve =
      ToneCurve(transfer: codePoints.transfer, television: asStored ? .bt1886 : .sRGB) ?? .sRGB
    let shown = ColourCodePoints(
      primaries: codePoints.primaries, transfer: codePoints.transfer, matrix: 0,
      isFullRange: !isLimited)
    self.init(
      space ?? .sRGB, isLimited && !codePoints.isHDR ? curve.ofLimitedRange : curve,
      codePoints: codePoints.isHDR ? shown : nil)
  }

  /// The exponents that a file may have; beyond them nothing of the picture would be left.
  private static let exponents = 0.2...6.0
  /// Of what a file says when it means the levels of a screen, such as 0.45455 or 0.45.
  private static let usualExponents = 2.15...2.25

  /// By the chunks gAMA and cHRM (PNG Specification, third edition, section 11.3.2).
  private init?(gamma: Double, _ chromaticities: Chromaticities?) {
    let exponent = 1 / gamma
    guard Self.exponents.contains(exponent) else { return nil }
    // Browsers take it for sRGB where no primaries say that a program knew what it wrote.
    if chromaticities == nil, Self.usualExponents.contains(exponent) { return nil }
    let space = chromaticities.flatMap(RGBSpace.init(checking:)) ?? .sRGB
    self.init(space, .power(exponent), codePoints: nil)
  }

  private init(_ space: RGBSpace, _ curve: ToneCurve, codePoints: ColourCodePoints?) {
    let rgb = ICCProfile.rgb(space.colorants, curve, codePoints: codePoints)
    guard ICCProfile.known(rgb)?.isSRGB != true else {
      self = .sRGB
      return
    }
    self = .other(rgb: rgb, gray: ICCProfile.gray(curve, codePoints: codePoints))
  }
}

extension Image {
  /// Takes colours for what their file says, and not for what a profile in it does.
  func setColours(_ colours: DescribedColours) {
    removeProfile()
    guard case .other(let rgb, let gray) = colours else { return }
    setProfile(bandCount < 3 ? gray : rgb)
  }
}

/// Profiles for colours that a file describes without one: the form in which all else here, lcms and
/// what reads a thumbnail know them.
extension ICCProfile {
  /// The bytes of a profile of red, green and blue (ICC.1 sections 7 and 8.3.3).
  ///
  /// - Parameters:
  ///   - colorants: red, green and blue in CIE XYZ, adapted to D50.
  ///   - codePoints: what else says the same.
  static func rgb(
    _ colorants: Matrix3, _ curve: ToneCurve, codePoints: ColourCodePoints? = nil
  ) -> [UInt8] {
    let names = ["r", "g", "b"]
    var tags = zip(names, colorants.columns).map { name, light in
      Tag(name: name + "XYZ", data: xyz(light))
    }
    tags += names.map { Tag(name: $0 + "TRC", data: curve.data) }
    if let codePoints { tags.append(Tag(name: "cicp", data: codePoints.tagData)) }
    return profile(space: "RGB ", tags)
  }

  /// The bytes of a profile of gray (section 8.3.4).
  static func gray(_ curve: ToneCurve, codePoints: ColourCodePoints? = nil) -> [UInt8] {
    var tags = [Tag(name: "kTRC", data: curve.data)]
    if let codePoints { tags.append(Tag(name: "cicp", data: codePoints.tagData)) }
    return profile(space: "GRAY", tags)
  }

  private struct Tag {
    let name: String
    let data: [UInt8]
  }

  private static func xyz(_ light: SIMD3<Double>) -> [UInt8] {
    BigEndianBytes.tag("XYZ ")
      + [light.x, light.y, light.z].flatMap { BigEndianBytes.fixed($0) }
  }

  /// Text in English (section 10.15).
  private static func text(_ text: String) -> [UInt8] {
    let characters = text.utf16.flatMap { BigEndianBytes.number(Int($0), byteCount: 2) }
    return BigEndianBytes.tag("mluc") + BigEndianBytes.number(1) + BigEndianBytes.number(12)
      + Array("enUS".utf8) + BigEndianBytes.number(characters.count) + BigEndianBytes.number(28)
      + characters
  }

  private static func profile(space: String, _ described: [Tag]) -> [UInt8] {
    let tags =
      [
        Tag(name: "desc", data: text("Colours as the picture's file describes them")),
        Tag(name: "cprt", data: text("None")), Tag(name: "wtpt", data: xyz(RGBSpace.d50)),
      ] + described
    var table = BigEndianBytes.number(tags.count)
    var data: [UInt8] = []
    var places: [[UInt8]: Int] = [:]
    let start = 128 + 4 + 12 * tags.count
    for tag in tags {
      let place = places[tag.data] ?? start + data.count
      if places.updateValue(place, forKey: tag.data) == nil {
        data += tag.data + [UInt8](repeating: 0, count: (4 - tag.data.count % 4) % 4)
      }
      table +=
        Array(tag.name.utf8) + BigEndianBytes.number(place) + BigEndianBytes.number(tag.data.count)
    }
    return header(byteCount: start + data.count, space: space) + table + data
  }

  /// Section 7.2, of version 4.4, which has code points.
  private static func header(byteCount: Int, space: String) -> [UInt8] {
    var header = BigEndianBytes.number(byteCount) + [0, 0, 0, 0, 4, 0x40, 0, 0]
    header += Array("mntr".utf8) + Array(space.utf8) + Array("XYZ ".utf8)
    // A time, which the section asks for: that of the edition.
    header += [2022, 5, 1, 0, 0, 0].flatMap { BigEndianBytes.number($0, byteCount: 2) }
    header += Array("acsp".utf8) + [UInt8](repeating: 0, count: 24)
    // The intent: colours as they are, relative to white.
    header += BigEndianBytes.number(1)
    let d50 = RGBSpace.d50
    header += [d50.x, d50.y, d50.z].flatMap { BigEndianBytes.fixed($0) }
    return header + [UInt8](repeating: 0, count: 128 - header.count)
  }

  /// Where levels are those of linear light, or close to it: the curve, and the bytes of a profile of the
  /// same colours with the levels of sRGB; `nil` for other profiles.
  var evened: (curve: ToneCurve, profile: [UInt8])? {
    guard !hasTables, codePoints?.isHDR != true else { return nil }
    switch colourSpace {
    case .gray:
      guard let curve = ToneCurve(data(of: "kTRC")), curve.isUneven else { return nil }
      return (curve, Self.gray(.sRGB))
    case .rgb:
      let data = data(of: "rTRC")
      guard data == self.data(of: "gTRC"), data == self.data(of: "bTRC"),
        let curve = ToneCurve(data), curve.isUneven, let colorants
      else { return nil }
      return (curve, Self.rgb(colorants, .sRGB))
    case .cmyk, nil: return nil
    }
  }

  /// Red, green and blue in CIE XYZ, adapted to D50; `nil` unless there are all three.
  var colorants: Matrix3? {
    let columns = ["rXYZ", "gXYZ", "bXYZ"].compactMap { light(of: $0) }
    return columns.count == 3 ? Matrix3(columns) : nil
  }

  /// ICC.1:2022 section 9.2.17; `nil` without that tag.
  var codePoints: ColourCodePoints? {
    let data = data(of: "cicp")
    guard data.count >= 12 else { return nil }
    return ColourCodePoints(
      primaries: Int(data[8]), transfer: Int(data[9]), matrix: Int(data[10]),
      isFullRange: data[11] != 0)
  }
}

extension ColourCodePoints {
  /// Section 10.3.
  fileprivate var tagData: [UInt8] {
    BigEndianBytes.tag("cicp")
      + [UInt8(clamping: primaries), UInt8(clamping: transfer), 0, isFullRange ? 1 : 0]
  }
}

/// Red, green and blue as light: what they mix to.
struct RGBSpace {
  /// The colours of red, green and blue in CIE XYZ, adapted to the white D50 of profiles (ICC.1 annex
  /// F.3), so that spaces of any white can be compared. White has the luminance 1.
  let colorants: Matrix3

  static let sRGB = RGBSpace(.sRGB)

  private init(_ chromaticities: Chromaticities) {
    guard let space = RGBSpace(checking: chromaticities) else {
      preconditionFailure("the primaries of a standard span a space")
    }
    self = space
  }

  /// What an eye's cones have of a white at least, where the luminance is 1. That of candles has a tenth.
  private static let leastResponse = 0.01

  /// - Returns: `nil` for primaries that lie on a line, for places that no light has, and for a white
  ///   that is not one.
  init?(checking chromaticities: Chromaticities) {
    let places = [chromaticities.red, chromaticities.green, chromaticities.blue]
    guard (places + [chromaticities.white]).allSatisfy({ $0.y > 0.001 && $0.x + $0.y <= 1.001 }),
      let inverse = Matrix3(places.map(\.light)).inverse
    else { return nil }
    let white = chromaticities.white.light
    let shares = inverse * white
    guard shares.min() > 0 else { return nil }
    let (bradford, cones) = (Matrix3.bradford, Matrix3.bradford * white)
    guard cones.min() > Self.leastResponse, let back = bradford.inverse else { return nil }
    let adapting = bradford.scaled(rowsBy: (bradford * Self.d50) / cones)
    colorants = Matrix3(
      zip(places, [shares.x, shares.y, shares.z]).map { place, share in
        back * (adapting * (place.light * share))
      })
  }

  /// The white of profiles (ICC.1 section 7.2.16).
  static let d50 = SIMD3(0.9642, 1, 0.8249)

  /// From light of red, green and blue to that of another space.
  func matrix(to other: RGBSpace) -> Matrix3? {
    other.colorants.inverse.map { inverse in
      Matrix3(colorants.columns.map { inverse * $0 })
    }
  }

  /// What red, green and blue add to the luminance.
  var luminances: SIMD3<Double> {
    SIMD3(colorants.columns[0].y, colorants.columns[1].y, colorants.columns[2].y)
  }
}

extension Chromaticities.Place {
  /// In CIE XYZ, with the luminance 1.
  fileprivate var light: SIMD3<Double> { SIMD3(x / y, 1, (1 - x - y) / y) }
}

extension Chromaticities {
  private static let d65 = Place(0.3127, 0.3290)

  private init(_ red: Place, _ green: Place, _ blue: Place, white: Place = d65) {
    self.init(white: white, red: red, green: green, blue: blue)
  }

  /// Those of BT.709.
  static let sRGB = Chromaticities(Place(0.64, 0.33), Place(0.30, 0.60), Place(0.15, 0.06))

  /// ITU-T H.273 table 2.
  ///
  /// - Returns: `nil` for a number that is reserved or unspecified, and for SMPTE ST 428-1, whose
  ///   primaries are no lights.
  init?(primaries: Int) {
    let illuminantC = Place(0.310, 0.316)
    let p3 = (Place(0.680, 0.320), Place(0.265, 0.690), Place(0.150, 0.060))
    switch primaries {
    case 1: self = .sRGB
    case 4:
      self.init(Place(0.67, 0.33), Place(0.21, 0.71), Place(0.14, 0.08), white: illuminantC)
    case 5: self.init(Place(0.64, 0.33), Place(0.29, 0.60), Place(0.15, 0.06))
    case 6, 7: self.init(Place(0.630, 0.340), Place(0.310, 0.595), Place(0.155, 0.070))
    case 8:
      self.init(
        Place(0.681, 0.319), Place(0.243, 0.692), Place(0.145, 0.049), white: illuminantC)
    case 9: self.init(Place(0.708, 0.292), Place(0.170, 0.797), Place(0.131, 0.046))
    case 11: self.init(p3.0, p3.1, p3.2, white: Place(0.314, 0.351))
    case 12: self.init(p3.0, p3.1, p3.2)
    case 22: self.init(Place(0.630, 0.340), Place(0.295, 0.605), Place(0.155, 0.077))
    default: return nil
    }
  }
}

/// Three columns of three numbers.
struct Matrix3 {
  let columns: [SIMD3<Double>]

  /// - Parameter columns: three.
  init(_ columns: [SIMD3<Double>]) { self.columns = columns }

  /// From CIE XYZ to the responses of the cones (ICC.1 annex E).
  static let bradford = Matrix3([
    SIMD3(0.8951, -0.7502, 0.0389), SIMD3(0.2664, 1.7135, -0.0685), SIMD3(-0.1614, 0.0367, 1.0296),
  ])

  static func * (matrix: Matrix3, vector: SIMD3<Double>) -> SIMD3<Double> {
    matrix.columns[0] * vector.x + matrix.columns[1] * vector.y + matrix.columns[2] * vector.z
  }

  func scaled(rowsBy factors: SIMD3<Double>) -> Matrix3 { Matrix3(columns.map { $0 * factors }) }

  /// - Returns: `nil` if there is none.
  var inverse: Matrix3? {
    let (a, b, c) = (columns[0], columns[1], columns[2])
    let rows = [Self.cross(b, c), Self.cross(c, a), Self.cross(a, b)]
    let determinant = (a * rows[0]).sum()
    guard abs(determinant) > 1e-9 else { return nil }
    return Matrix3((0..<3).map { SIMD3(rows[0][$0], rows[1][$0], rows[2][$0]) / determinant })
  }

  private static func cross(_ a: SIMD3<Double>, _ b: SIMD3<Double>) -> SIMD3<Double> {
    SIMD3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
  }
}
