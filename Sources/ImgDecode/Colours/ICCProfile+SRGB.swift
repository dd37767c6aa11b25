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
      return abs(curve.light(at: level) - ToneCurve.sRGB.light(at: level)) <= Self.tolerance
    }
  }
}
