/// What describes the colours of a picture, of all that its file has for it, and what it says.
///
/// HEIF takes primaries and transfer from a profile before code points, and the matrix from code points
/// alone (ISO/IEC 23000-22 section 7.3.6.4). PNG takes cICP, iCCP, sRGB, and then gAMA with cHRM (PNG
/// Specification, third edition, section 4.3).
package struct ColourDescription: Hashable, Sendable, Codable {
  package enum Origin: String, Sendable, Codable {
    case codePoints = "cicp"
    case profile = "icc"
    /// A word for sRGB, as PNG and BMP have one.
    case standard = "srgb"
    /// The chunk gAMA of a PNG, with or without cHRM.
    case gamma = "gama"
  }

  package let origin: Origin
  /// Names of standards; `nil` for what is not said, or only by a profile.
  package let primaries: String?
  package let transfer: String?
  /// From the stored samples to red, green and blue.
  package let matrix: String?
  package let range: String?
  /// Whether it has brighter light than white; `nil` where only a profile could tell.
  package let isHDR: Bool?

  private enum CodingKeys: String, CodingKey {
    case origin = "described_by"
    case primaries, transfer, matrix, range
    case isHDR = "hdr"
  }

  /// By code points.
  ///
  /// - Parameter origin: what they stand in.
  init(_ codePoints: ColourCodePoints, as origin: Origin = .codePoints) {
    self.origin = origin
    primaries = codePoints.primariesName
    transfer = codePoints.transferName
    matrix = codePoints.matrixName
    range = codePoints.rangeName
    isHDR = codePoints.isHDR
  }

  /// By a profile.
  ///
  /// - Parameter codePoints: beside it.
  init(profileBeside codePoints: ColourCodePoints?) {
    origin = .profile
    (primaries, transfer, isHDR) = (nil, nil, nil)
    matrix = codePoints?.matrixName
    range = codePoints?.rangeName
  }

  /// By the exponent of the encoding of light.
  init(gamma: Double) {
    origin = .gamma
    (primaries, matrix) = (nil, nil)
    let exponent = (100 / gamma).rounded() / 100
    transfer = exponent == 1 ? "linear" : "gamma \(exponent)"
    range = "full"
    isHDR = false
  }
}

/// The places of the primaries and of white in the diagram of CIE 1931.
package struct Chromaticities: Hashable, Sendable, Codable {
  package struct Place: Hashable, Sendable, Codable {
    package let x: Double
    package let y: Double

    package init(_ x: Double, _ y: Double) { (self.x, self.y) = (x, y) }
  }

  package let white: Place
  package let red: Place
  package let green: Place
  package let blue: Place

  package init(white: Place, red: Place, green: Place, blue: Place) {
    (self.white, self.red, self.green, self.blue) = (white, red, green, blue)
  }
}
