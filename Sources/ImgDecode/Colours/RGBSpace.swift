import ImgFacts

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
