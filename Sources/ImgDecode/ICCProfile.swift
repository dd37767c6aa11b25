import CResample
import ImgFacts

/// What a colour profile (ICC.1, sections 7.2 and 7.3) says of itself: as much as decides how it is
/// used.
struct ICCProfile: Sendable {
  enum ColourSpace {
    case gray, rgb, cmyk
  }

  /// How colours that the other space does not have are brought into it (ICC.1 section 6.2).
  enum Intent {
    case perceptual, relativeColorimetric, saturation
  }

  /// Of the pixels; `nil` for one that no picture here has.
  let colourSpace: ColourSpace?
  /// Whether it describes sRGB (IEC 61966-2-1), as most profiles in pictures do, up to what 8 bits can
  /// show. Colours then stay as they are.
  private(set) var isSRGB = false
  /// The way to sRGB that curves and a matrix describe; `nil` for sRGB itself and for all other profiles.
  private(set) var conversion: ColourConversion?
  private let bytes: [UInt8]
  /// Where the data of each tag lies.
  private let tags: [String: Range<Int>]

  private static let headerByteCount = 128
  private static let tagByteCount = 12
  /// Profiles have some twenty.
  private static let maximumTagCount = 256

  /// - Returns: `nil` when the bytes are too few for a profile.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.headerByteCount + 4 else { return nil }
    let numbers = BinaryFields(bytes)
    let signature = { (offset: Int) in String(decoding: bytes[offset..<offset + 4], as: UTF8.self) }
    colourSpace =
      switch signature(16) {
      case "GRAY": .gray
      case "RGB ": .rgb
      case "CMYK": .cmyk
      default: nil
      }
    let declared = numbers.u32(Self.headerByteCount)
    let first = Self.headerByteCount + 4
    let count = min(declared, Self.maximumTagCount, (bytes.count - first) / Self.tagByteCount)
    var tags: [String: Range<Int>] = [:]
    for entry in 0..<count {
      let place = first + entry * Self.tagByteCount
      let (start, length) = (numbers.u32(place + 4), numbers.u32(place + 8))
      // A tag without data counts as one that is there, with nothing to read.
      let isInside = start <= bytes.count && length <= bytes.count - start
      tags[signature(place)] = isInside ? start..<start + length : 0..<0
    }
    self.bytes = bytes
    self.tags = tags
    isSRGB = describesSRGB
    conversion = isSRGB ? nil : ColourConversion(self)
  }

  /// The profiles of displays and cameras have some thousand bytes. Those with large tables are not kept: with their
  /// curves, all that are kept take 15 MiB at most.
  private static let maximumKnownByteCount = 32 << 10
  /// Of the last pictures. Few profiles are frequent, and to find out what one says takes as long as to encode a
  /// small thumbnail.
  private static let known = LRUCache<[UInt8], ICCProfile>(capacity: 32)

  /// What the bytes of a profile say, which is found out once for the profiles of the last pictures.
  ///
  /// - Returns: `nil` when the bytes are too few for a profile.
  static func known(_ bytes: [UInt8]) -> ICCProfile? {
    guard bytes.count <= maximumKnownByteCount else { return ICCProfile(bytes) }
    return known.value(for: bytes) { ICCProfile(bytes) }
  }

  /// The data of a tag; empty if there is none.
  func data(of tag: String) -> [UInt8] { tags[tag].map { Array(bytes[$0]) } ?? [] }

  /// The intent to use: colours as they are where the profile can tell, else the one it has a table
  /// for. A profile made of curves and a matrix has none, and knows colours as they are.
  var intent: Intent {
    if tags["A2B1"] != nil || !hasTables { return .relativeColorimetric }
    return tags["A2B0"] != nil ? .perceptual : .saturation
  }

  /// Whether it maps colours by tables instead of curves and a matrix.
  var hasTables: Bool { tags.keys.contains { $0.hasPrefix("A2B") } }
}

extension ICCProfile {
  private var describesSRGB: Bool {
    guard colourSpace == .rgb, !hasTables else { return false }
    return Self.primaries.allSatisfy { isPrimary($0.tag, $0.colour) }
      && ["rTRC", "gTRC", "bTRC"].allSatisfy { isToneCurve($0) }
  }

  /// The primaries of sRGB, adapted to the white D50 of the connection space.
  private static let primaries: [(tag: String, colour: SIMD3<Double>)] = [
    ("rXYZ", SIMD3(0.4361, 0.2225, 0.0139)),
    ("gXYZ", SIMD3(0.3851, 0.7169, 0.0971)),
    ("bXYZ", SIMD3(0.1431, 0.0606, 0.7141)),
  ]

  /// Of a channel between 0 and 1. A gamma of 2.2 differs by 0.004.
  private static let tolerance = 0.002

  private func isPrimary(_ tag: String, _ colour: SIMD3<Double>) -> Bool {
    guard let light = light(of: tag) else { return false }
    let difference = light - colour
    return max(difference.max(), -difference.min()) <= Self.tolerance
  }

  /// XYZType (ICC.1 section 10.31).
  func light(of tag: String) -> SIMD3<Double>? {
    let data = data(of: tag)
    guard data.count >= 20, data.starts(with: BigEndianBytes.tag("XYZ ")) else { return nil }
    let numbers = BinaryFields(data)
    return SIMD3(numbers.fixed(8), numbers.fixed(12), numbers.fixed(16))
  }

  private func isToneCurve(_ tag: String) -> Bool {
    guard let curve = ToneCurve(data(of: tag)) else { return false }
    return (0...32).allSatisfy { step in
      let level = Double(step) / 32
      return abs(curve.light(at: level) - ToneCurve.sRGB.light(at: level)) <= Self.tolerance
    }
  }
}

/// From the levels of a profile that is made of curves and a matrix to those of sRGB, as ICC.1 section F.3 has it.
/// Of 8 bits lcms makes the same but for rounding, in four times the time; of 16 bits it interpolates between few
/// colours, and saturated ones are up to a twenty-fifth of the range away.
struct ColourConversion: Sendable {
  /// Of red, green and blue, and the light of the screen that a full one of each is.
  private let channels: [(curve: ToneCurve, light: SIMD3<Double>)]
  /// For 8 bits: see `img_colour_conversion`.
  private let parts: [Int32]

  /// - Returns: `nil` for a profile that has tables or lacks a curve, for one of other light than a screen's, and
  ///   for one whose levels are not scaled as they are.
  fileprivate init?(_ profile: ICCProfile) {
    guard profile.colourSpace == .rgb, !profile.hasTables, profile.evened == nil,
      profile.codePoints.flatMap({ BrightLight($0) }) == nil,
      let colorants = profile.colorants, Self.areBalanced(colorants),
      let toScreen = RGBSpace.sRGB.colorants.inverse
    else { return nil }
    let full = Double(1 << (Int(IMG_LIGHT_BITS) + Int(IMG_PART_BITS)))
    // Three of them are added.
    let range = -Double(Int32.max / 4)...Double(Int32.max / 4)
    var channels: [(curve: ToneCurve, light: SIMD3<Double>)] = []
    var parts: [Int32] = []
    parts.reserveCapacity(3 * 256 * 4)
    for (name, colorant) in zip(["rTRC", "gTRC", "bTRC"], colorants.columns) {
      guard let curve = ToneCurve(profile.data(of: name)) else { return nil }
      let channelLight = toScreen * colorant
      channels.append((curve, channelLight))
      for level in 0..<256 {
        let light = channelLight * full * curve.light(at: Double(level) / 255)
        for value in [light.x, light.y, light.z, 0] {
          guard value.isFinite else { return nil }
          parts.append(Int32(min(max(value, range.lowerBound), range.upperBound)))
        }
      }
    }
    self.channels = channels
    self.parts = parts
  }

  /// Whether red, green and blue add up to white, as they must. Otherwise the bytes are damaged, or say something
  /// that lcms may understand.
  private static func areBalanced(_ colorants: Matrix3) -> Bool {
    let white = colorants * SIMD3(1, 1, 1) - RGBSpace.d50
    return max(white.max(), -white.min()) < 0.05
  }

  /// The levels of sRGB for each light from none to full.
  private static let levels = (0...1 << Int(IMG_LIGHT_BITS)).map { light in
    UInt8(BrightLight.level(ofLight: Double(light) / Double(1 << Int(IMG_LIGHT_BITS))) * 255 + 0.5)
  }

  /// Converts pixels of three or four samples. The fourth stays as it is.
  ///
  /// - Parameter result: room for as many samples, or the pixels themselves.
  func convert(
    _ pixels: UnsafePointer<UInt8>, count: Int, bandCount: Int,
    to result: UnsafeMutablePointer<UInt8>
  ) {
    unsafe parts.withUnsafeBufferPointer { parts in
      unsafe Self.levels.withUnsafeBufferPointer { levels in
        guard let part = parts.baseAddress, let level = levels.baseAddress else { return }
        let tables = unsafe img_colour_conversion(parts: part, levels: level)
        unsafe img_convert_colours(pixels, count, Int32(bandCount), tables, result)
      }
    }
  }

  /// Converts pixels of 16 bits a sample, as the others.
  func convert(
    _ pixels: UnsafePointer<UInt16>, count: Int, bandCount: Int,
    to result: UnsafeMutablePointer<UInt16>
  ) {
    let (red, green, blue) = (lights(of: 0), lights(of: 1), lights(of: 2))
    for start in stride(from: 0, to: count * bandCount, by: bandCount) {
      let light =
        unsafe red[Int(pixels[start])] + green[Int(pixels[start + 1])]
        + blue[Int(pixels[start + 2])]
      for channel in 0..<3 {
        unsafe result[start + channel] = Self.deepLevel(ofLight: light[channel])
      }
      if bandCount > 3 { unsafe result[start + 3] = pixels[start + 3] }
    }
  }

  /// What each level of 16 bits of a channel adds to red, green and blue light.
  private func lights(of channel: Int) -> [SIMD3<Double>] {
    let (curve, light) = channels[channel]
    return (0...Int(UInt16.max)).map { light * curve.light(at: Double($0) / Double(UInt16.max)) }
  }

  /// Of no number, which the curve of a hostile profile gives, comes black.
  private static func deepLevel(ofLight light: Double) -> UInt16 {
    let place = light > 0 ? min(light, 1) * Double(UInt16.max) : 0
    let index = min(Int(place), Int(UInt16.max) - 1)
    let share = place - Double(index)
    return UInt16(deepLevels[index] * (1 - share) + deepLevels[index + 1] * share + 0.5)
  }

  /// The levels of 16 bits for each light from none to full. Between two it is even enough to interpolate.
  private static let deepLevels = (0...Int(UInt16.max)).map { light in
    BrightLight.level(ofLight: Double(light) / Double(UInt16.max)) * Double(UInt16.max)
  }

  /// Converts pixels of three or four samples where they are.
  func convert(_ pixels: inout [UInt8], bandCount: Int) {
    unsafe pixels.withUnsafeMutableBufferPointer { buffer in
      guard let first = buffer.baseAddress else { return }
      unsafe convert(first, count: buffer.count / bandCount, bandCount: bandCount, to: first)
    }
  }
}
