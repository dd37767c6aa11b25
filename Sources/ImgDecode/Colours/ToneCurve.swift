import Glibc
import ImgFacts

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
    let numbers = BigEndianBytes(data)
    switch String(decoding: data[0..<4], as: UTF8.self) {
    case "curv": self.init(counted: numbers, byteCount: data.count)
    case "para": self.init(parametric: numbers, byteCount: data.count)
    default: return nil
    }
  }

  private init?(counted numbers: BigEndianBytes, byteCount: Int) {
    let count = numbers.unsigned(at: 8)
    guard count <= Self.maximumSampleCount, count <= (byteCount - 12) / 2 else { return nil }
    switch count {
    case 0: self = .power(1)
    case 1: self = .power(Double(numbers.short(at: 12)) / 256)
    default: self = .samples((0..<count).map { Double(numbers.short(at: 12 + 2 * $0)) / 65_535 })
    }
  }

  /// The kinds that are written here and in most profiles: a power, and one behind a straight line.
  private init?(parametric numbers: BigEndianBytes, byteCount: Int) {
    let value = { (index: Int) in numbers.fixed(at: 12 + 4 * index) }
    switch numbers.short(at: 8) {
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
