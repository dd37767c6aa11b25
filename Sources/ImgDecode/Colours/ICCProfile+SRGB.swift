import Glibc

extension ICCProfile {
  /// Whether it describes sRGB (IEC 61966-2-1), as most profiles in pictures do, up to what 8 bits can
  /// show. Colours then stay as they are.
  var isSRGB: Bool {
    guard colourSpace == .rgb, !hasTables else { return false }
    return Self.primaries.allSatisfy { isPrimary($0.tag, $0.colour) }
      && ["rTRC", "gTRC", "bTRC"].allSatisfy { isToneCurve($0) }
  }

  /// The primaries of sRGB, adapted to the white D50 of the connection space.
  private static let primaries: [(tag: String, colour: [Double])] = [
    ("rXYZ", [0.4361, 0.2225, 0.0139]),
    ("gXYZ", [0.3851, 0.7169, 0.0971]),
    ("bXYZ", [0.1431, 0.0606, 0.7141]),
  ]

  /// Of a channel between 0 and 1. A gamma of 2.2 differs by 0.004.
  private static let tolerance = 0.002

  /// XYZType (ICC.1 section 10.31).
  private func isPrimary(_ tag: String, _ colour: [Double]) -> Bool {
    let data = data(of: tag)
    guard data.count >= 20 else { return false }
    let numbers = BigEndianBytes(data)
    return colour.enumerated().allSatisfy { index, expected in
      abs(numbers.fixed(at: 8 + 4 * index) - expected) <= Self.tolerance
    }
  }

  private func isToneCurve(_ tag: String) -> Bool {
    guard let curve = ToneCurve(data(of: tag)) else { return false }
    return (0...32).allSatisfy { step in
      let level = Double(step) / 32
      return abs(curve.light(at: level) - Self.light(at: level)) <= Self.tolerance
    }
  }

  private static func light(at level: Double) -> Double {
    level <= 0.04045 ? level / 12.92 : pow((level + 0.055) / 1.055, 2.4)
  }
}

/// How much light a level of a channel stands for (ICC.1 sections 10.6 and 10.18).
private enum ToneCurve {
  case samples([Double])
  /// (a·x + b)^g from `d` on, c·x below it.
  case parameters(g: Double, a: Double, b: Double, c: Double, d: Double)

  /// Profiles have 1,024 or 4,096.
  private static let maximumSampleCount = 65_536

  /// - Returns: `nil` for a curve that cannot be that of sRGB.
  init?(_ data: [UInt8]) {
    guard data.count >= 12 else { return nil }
    let numbers = BigEndianBytes(data)
    switch (String(decoding: data[0..<4], as: UTF8.self), numbers.short(at: 8)) {
    case ("curv", _):
      let count = numbers.unsigned(at: 8)
      guard (2...Self.maximumSampleCount).contains(count), count <= (data.count - 12) / 2 else {
        return nil
      }
      self = .samples((0..<count).map { Double(numbers.short(at: 12 + 2 * $0)) / 65_535 })
    case ("para", 3):
      guard data.count >= 12 + 5 * 4 else { return nil }
      let values = (0..<5).map { numbers.fixed(at: 12 + 4 * $0) }
      self = .parameters(g: values[0], a: values[1], b: values[2], c: values[3], d: values[4])
    default:
      return nil
    }
  }

  func light(at level: Double) -> Double {
    switch self {
    case .samples(let samples):
      let place = level * Double(samples.count - 1)
      let index = min(Int(place), samples.count - 2)
      let share = place - Double(index)
      return samples[index] * (1 - share) + samples[index + 1] * share
    case .parameters(let g, let a, let b, let c, let d):
      return level >= d ? pow(a * level + b, g) : c * level
    }
  }
}
