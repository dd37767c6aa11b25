import Glibc
import ImgFacts

/// Light brighter than the white of a page (ITU-R BT.2100), brought to the light of a screen.
///
/// Light up to white stays as it is. What is brighter is compressed by the Möbius curve that libplacebo and
/// FFmpeg have, which ends at the brightest light of the picture. The curve is applied to the
/// greatest of the three channels, and the others keep their share of that, so that no hue changes. Before
/// that, colours that sRGB does not have lose some colour, and the light that no screen can take away is left out.
struct BrightLight {
  enum Transfer {
    case pq, hlg
  }

  let transfer: Transfer
  private let isFullRange: Bool
  /// From light of red, green and blue to that of sRGB.
  private let matrix: [SIMD3<Float>]
  /// What red, green and blue add to the luminance.
  private let luminances: SIMD3<Float>

  /// - Returns: `nil` for colours without such light.
  init?(_ codePoints: ColourCodePoints) {
    switch codePoints.transfer {
    case ColourCodePoints.pq: transfer = .pq
    case ColourCodePoints.hlg: transfer = .hlg
    default: return nil
    }
    let space =
      Chromaticities(primaries: codePoints.primaries)
      .flatMap(RGBSpace.init(checking:)) ?? .sRGB
    guard let matrix = space.matrix(to: .sRGB) else { return nil }
    self.matrix = matrix.columns.map { SIMD3<Float>($0) }
    luminances = SIMD3<Float>(space.luminances)
    isFullRange = codePoints.isFullRange
  }

  // MARK: - Levels

  /// Of white (ITU-R BT.2408 section 2.2), in cd/m².
  private static let white = 203.0
  /// Of the screen that HLG is shown on, and the exponent of its system (ITU-R BT.2100 table 5).
  private static let hlgPeak = 1_000.0
  private static let hlgExponent = 1.2

  /// SMPTE ST 2084, as a share of 10,000 cd/m².
  static func luminance(ofPQ level: Double) -> Double {
    let (m1, m2) = (2_610.0 / 16_384, 2_523.0 / 32)
    let (c1, c2, c3) = (3_424.0 / 4_096, 2_413.0 / 128, 2_392.0 / 128)
    let power = pow(max(level, 0), 1 / m2)
    return pow(max(power - c1, 0) / (c2 - c3 * power), 1 / m1)
  }

  /// The light of the scene, from 0 to 1 (ITU-R BT.2100 table 5).
  static func light(ofHLG level: Double) -> Double {
    let (a, b, c) = (0.178_832_77, 0.284_668_92, 0.559_910_73)
    return level <= 0.5 ? max(level, 0) * max(level, 0) / 3 : (exp((level - c) / a) + b) / 12
  }

  /// The greatest light of a channel, as a multiple of white.
  private var greatest: Double { (transfer == .pq ? 10_000 : Self.hlgPeak) / Self.white }

  /// The light of a level, as a multiple of white: for HLG, as if the other channels had the same.
  private func light(at level: Double) -> Double {
    let level = isFullRange ? level : (level * 255 - 16) / (235 - 16)
    switch transfer {
    case .pq: return Self.luminance(ofPQ: min(level, 1)) * greatest
    case .hlg: return pow(Self.light(ofHLG: min(level, 1)), Self.hlgExponent) * greatest
    }
  }

  // MARK: - As it is scaled

  /// Levels of 16 bits, for levels up to a maximum: see ``scaledLevel(ofLight:)``.
  func extendedLevels(upTo maximum: Int, count: Int) -> [UInt16] {
    let scale = 65_535 / Self.scaledLevel(ofLight: greatest)
    return (0..<count).map { index in
      let light = light(at: Double(min(index, maximum)) / Double(maximum))
      return UInt16((Self.scaledLevel(ofLight: light) * scale).rounded())
    }
  }

  /// The light of such levels, as a multiple of white.
  private var lights: [Float] {
    let scale = Self.scaledLevel(ofLight: greatest) / 65_535
    return (0...65_535).map { Float(Self.light(ofScaledLevel: Double($0) * scale)) }
  }

  /// What the level of white gains with its light.
  private static let slopeAtWhite = 1.055 / 2.4

  /// Up to white the level of sRGB, so that means look as those of sRGB do. Beyond it, levels grow ever more slowly, to
  /// less than one and a half times that of white: the kernel of a resize answers a step between two levels with a rim,
  /// and a lamp has no darker one than white has.
  private static func scaledLevel(ofLight light: Double) -> Double {
    light <= 1 ? level(ofLight: light) : 1 + slopeAtWhite * (1 - 1 / light)
  }

  private static func light(ofScaledLevel level: Double) -> Double {
    level <= 1 ? ToneCurve.sRGB.light(at: level) : 1 / (1 - (level - 1) / slopeAtWhite)
  }

  /// IEC 61966-2-1.
  static func level(ofLight light: Double) -> Double {
    light <= 0.003_130_8 ? max(light, 0) * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
  }

  // MARK: - As it is shown

  /// Turns ``extendedLevels(upTo:count:)`` into levels of sRGB.
  ///
  /// - Parameters:
  ///   - levels: of pixels with `bandCount` samples: red, green and blue, or gray, then transparency, if
  ///     there is any.
  ///   - result: has as many samples.
  func show<Sample: UnsignedSample>(
    _ levels: Span<UInt16>, bandCount: Int, in result: inout MutableSpan<Sample>
  ) {
    let (lights, isGray) = (self.lights, bandCount < 3)
    let colourCount = isGray ? 1 : 3
    var pixels: [SIMD3<Float>] = []
    pixels.reserveCapacity(levels.count / bandCount)
    var peak: Float = 1
    for start in stride(from: 0, to: levels.count, by: bandCount) {
      let (green, blue) = isGray ? (0, 0) : (1, 2)
      let light = SIMD3(
        lights[Int(levels[start])], lights[Int(levels[start + green])],
        lights[Int(levels[start + blue])])
      let shown = inSRGB(light)
      pixels.append(shown)
      let isSeen = bandCount == colourCount || levels[start + colourCount] > 0
      if isSeen { peak = max(peak, shown.max()) }
    }
    let curve = MobiusCurve(peak: peak)
    let maximum = Sample.depth.maximum
    for (index, pixel) in pixels.enumerated() {
      let start = index * bandCount
      let shown = curve.compressed(pixel)
      for channel in 0..<colourCount {
        let level = Self.level(ofLight: Double(shown[channel]))
        result[start + channel] = Sample(min(level, 1) * maximum + 0.5)
      }
      if bandCount > colourCount {
        result[start + colourCount] = Sample(
          levels[start + colourCount] >> (UInt16.bitWidth - Sample.bitWidth))
      }
    }
  }

  /// How far a colour that sRGB does not have moves towards gray, as a share of the way to the first one that it
  /// has. What is still missing then is left out. The whole way makes the strongest red of BT.2020 a pink, none of it
  /// moves hues the most; over all colours of BT.2020 this share makes the least difference to the eye, as the distance
  /// in Oklab.
  private static let shareOfGray: Float = 0.25

  /// Light of the primaries of sRGB, none of it negative.
  private func inSRGB(_ light: SIMD3<Float>) -> SIMD3<Float> {
    let light = transfer == .hlg ? displayed(light) : light
    let mixed = matrix[0] * light.x + matrix[1] * light.y + matrix[2] * light.z
    let least = mixed.min()
    guard least < 0 else { return mixed }
    // Towards the gray of the same luminance.
    let luminance = (luminances * light).sum()
    guard luminance > 0 else { return .zero }
    let gray = SIMD3(repeating: luminance)
    let kept = 1 + Self.shareOfGray * least / (luminance - least)
    return (gray + (mixed - gray) * kept)
      .clamped(lowerBound: .zero, upperBound: SIMD3(repeating: .infinity))
  }

  /// What a screen makes of the light of a scene depends on the luminance of all channels (ITU-R BT.2100
  /// table 5).
  private func displayed(_ light: SIMD3<Float>) -> SIMD3<Float> {
    let greatest = Float(greatest)
    let exponent = Float(Self.hlgExponent)
    let scene = SIMD3(
      powf(light.x / greatest, 1 / exponent), powf(light.y / greatest, 1 / exponent),
      powf(light.z / greatest, 1 / exponent))
    let luminance = (luminances * scene).sum()
    guard luminance > 0 else { return .zero }
    return scene * (greatest * powf(luminance, exponent - 1))
  }
}

/// Light as it is up to a knee, and compressed above it, so that the peak becomes 1. It is smooth at the
/// knee: (s·x + t) / (x + u), whose value and slope there are those of x.
private struct MobiusCurve {
  /// Of light; a level of 237 of 255. White becomes a level of 246 or more.
  private static let knee: Float = 0.85

  private let peak: Float
  private let shift: Float
  private let offset: Float
  private let scale: Float

  /// - Parameter peak: 1 or more; for 1, nothing is compressed.
  init(peak: Float) {
    self.peak = peak
    let knee = Self.knee
    guard peak > 1.001 else {
      (shift, offset, scale) = (0, 0, 1)
      return
    }
    shift = -knee * knee * (peak - 1) / (knee * knee - 2 * knee + peak)
    offset = (knee * knee - 2 * knee * peak + peak) / (peak - 1)
    scale = (offset * offset + 2 * offset * knee + knee * knee) / (offset - shift)
  }

  /// All channels by the same factor.
  func compressed(_ light: SIMD3<Float>) -> SIMD3<Float> {
    let greatest = light.max()
    guard greatest > Self.knee, peak > 1.001 else { return light }
    let bounded = min(greatest, peak)
    return light * (scale * (bounded + shift) / (bounded + offset) / greatest)
  }
}

/// How much light a level of a channel stands for. Both go from 0 to 1.
enum ToneCurve {
  case samples([Double])
  /// (a·x + b)^g from `d` on, c·x below it.
  case parameters(g: Double, a: Double, b: Double, c: Double, d: Double)

  /// IEC 61966-2-1.
  static let sRGB = parameters(
    g: 2.4, a: 1 / 1.055, b: 0.055 / 1.055, c: 1 / 12.92, d: 0.04045)

  static func power(_ exponent: Double) -> ToneCurve {
    .parameters(g: exponent, a: 1, b: 0, c: 0, d: 0)
  }

  func light(at level: Double) -> Double {
    switch self {
    case .samples(let samples):
      let place = min(max(level, 0), 1) * Double(samples.count - 1)
      let index = min(Int(place), samples.count - 2)
      let share = place - Double(index)
      return samples[index] * (1 - share) + samples[index + 1] * share
    case .parameters(let g, let a, let b, let c, let d):
      return level >= d ? pow(max(a * level + b, 0), g) : c * level
    }
  }

  /// Whether its levels are so far from even to the eye that 8 bits of them show steps, and that their
  /// mean is far from that of the levels of a screen: as those of linear light are.
  var isUneven: Bool { light(at: 0.5) > 0.35 }
}

// MARK: - By ITU-T H.273

extension ToneCurve {
  /// Table 3. A formula there that makes levels of light is turned round, but for television.
  ///
  /// - Parameter television: of BT.709, BT.601, xvYCC, BT.1361 and BT.2020. The formulas of the table are those of
  ///   a camera there, and a picture is meant to be seen as a screen shows its levels.
  /// - Returns: `nil` for a number that is reserved or unspecified.
  init?(transfer: Int, television: ToneCurve) {
    switch transfer {
    case 1, 6, 11, 12, 14, 15: self = television
    case 4: self = .power(2.2)
    case 5: self = .power(2.8)
    case 7: self = .smpte240M
    case 8: self = .power(1)
    case 9: self = .sampled { $0 > 0 ? pow(10, 2 * ($0 - 1)) : 0 }
    case 10: self = .sampled { $0 > 0 ? pow(10, 2.5 * ($0 - 1)) : 0 }
    case 13: self = .sRGB
    case ColourCodePoints.pq: self = .sampled(BrightLight.luminance(ofPQ:))
    case 17: self = .parameters(g: 2.6, a: pow(52.37 / 48, 1 / 2.6), b: 0, c: 0, d: 0)
    case ColourCodePoints.hlg: self = .sampled(BrightLight.light(ofHLG:))
    default: return nil
    }
  }

  /// 1.1115·x^0.45 - 0.1115, and 4·x where that is dark, turned round.
  private static let smpte240M = ToneCurve.parameters(
    g: 1 / 0.45, a: 1 / 1.1115, b: 0.1115 / 1.1115, c: 1 / 4.0, d: 4 * 0.022_8)

  /// Of a screen of television (ITU-R BT.1886, with a perfect black).
  static let bt1886 = power(2.4)

  private static func sampled(_ light: (Double) -> Double) -> ToneCurve {
    .samples((0...1_023).map { light(Double($0) / 1_023) })
  }

  /// The curve of levels that take the part of the range that video has: 16 to 235 of 255.
  var ofLimitedRange: ToneCurve {
    .sampled { light(at: min(max(($0 * 255 - 16) / (235 - 16), 0), 1)) }
  }
}

// MARK: - In a profile (ICC.1 sections 10.6 and 10.18)

extension ToneCurve {
  /// Profiles have 1,024 or 4,096.
  private static let maximumSampleCount = 65_536

  /// - Returns: `nil` for data that no curve has.
  init?(_ data: [UInt8]) {
    guard data.count >= 12 else { return nil }
    let numbers = BinaryFields(data)
    switch String(decoding: data[0..<4], as: UTF8.self) {
    case "curv": self.init(counted: numbers, byteCount: data.count)
    case "para": self.init(parametric: numbers, byteCount: data.count)
    default: return nil
    }
  }

  private init?(counted numbers: BinaryFields, byteCount: Int) {
    let count = numbers.u32(8)
    guard count <= Self.maximumSampleCount, count <= (byteCount - 12) / 2 else { return nil }
    switch count {
    case 0: self = .power(1)
    case 1: self = .power(Double(numbers.u16(12)) / 256)
    default: self = .samples((0..<count).map { Double(numbers.u16(12 + 2 * $0)) / 65_535 })
    }
  }

  /// The kinds that are written here and in most profiles: a power, and one behind a straight line.
  private init?(parametric numbers: BinaryFields, byteCount: Int) {
    let value = { (index: Int) in numbers.fixed(12 + 4 * index) }
    switch numbers.u16(8) {
    case 0 where byteCount >= 16: self = .power(value(0))
    case 3 where byteCount >= 32:
      self = .parameters(g: value(0), a: value(1), b: value(2), c: value(3), d: value(4))
    default: return nil
    }
  }

  /// As a profile holds it.
  var data: [UInt8] {
    switch self {
    case .samples(let samples):
      let levels = samples.map { Int((min(max($0, 0), 1) * 65_535).rounded()) }
      return BigEndianBytes.tag("curv") + BigEndianBytes.number(levels.count)
        + levels.flatMap { BigEndianBytes.number($0, byteCount: 2) }
    case .parameters(let g, let a, let b, let c, let d):
      return BigEndianBytes.tag("para") + [0, 3, 0, 0]
        + [g, a, b, c, d].flatMap { BigEndianBytes.fixed($0) }
    }
  }
}
