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

/// A colour space by numbers (ITU-T H.273).
package struct ColourCodePoints: Hashable, Sendable, Codable {
  package let primaries: Int
  package let transfer: Int
  package let matrix: Int
  package let isFullRange: Bool

  private enum CodingKeys: String, CodingKey {
    case primaries, transfer, matrix
    case isFullRange = "full_range"
  }

  package init(primaries: Int, transfer: Int, matrix: Int, isFullRange: Bool) {
    self.primaries = primaries
    self.transfer = transfer
    self.matrix = matrix
    self.isFullRange = isFullRange
  }

  package static let unspecified = 2
  package static let pq = 16
  package static let hlg = 18

  /// Red, green and blue of IEC 61966-2-1.
  package static let sRGB = ColourCodePoints(
    primaries: 1, transfer: 13, matrix: 0, isFullRange: true)

  /// Whether they say which colours red, green and blue are, or how much light a level stands for.
  package var describesColours: Bool { primariesName != nil || transferName != nil }

  /// Whether levels stand for light brighter than white (ITU-R BT.2100).
  package var isHDR: Bool { [Self.pq, Self.hlg].contains(transfer) }
}

/// The names of the standards that H.273 gives first for a number, or the usual ones. Numbers that are
/// reserved or unspecified have none.
extension ColourCodePoints {
  /// Table 2.
  var primariesName: String? {
    switch primaries {
    case 1: "BT.709"
    case 4: "BT.470 System M"
    case 5: "BT.470 System B, G"
    case 6: "BT.601"
    case 7: "SMPTE 240M"
    case 8: "generic film"
    case 9: "BT.2020"
    case 10: "SMPTE ST 428-1"
    case 11: "SMPTE RP 431-2 (DCI P3)"
    case 12: "SMPTE EG 432-1 (Display P3)"
    case 22: "EBU Tech 3213-E"
    default: nil
    }
  }

  /// Table 3.
  var transferName: String? {
    switch transfer {
    case 1: "BT.709"
    case 4: "gamma 2.2"
    case 5: "gamma 2.8"
    case 6: "BT.601"
    case 7: "SMPTE 240M"
    case 8: "linear"
    case 9: "logarithmic 100:1"
    case 10: "logarithmic 316:1"
    case 11: "IEC 61966-2-4 (xvYCC)"
    case 12: "BT.1361"
    case 13: "IEC 61966-2-1 (sRGB)"
    case 14: "BT.2020, 10 bits"
    case 15: "BT.2020, 12 bits"
    case Self.pq: "SMPTE ST 2084 (PQ)"
    case 17: "SMPTE ST 428-1"
    case Self.hlg: "ARIB STD-B67 (HLG)"
    default: nil
    }
  }

  /// Table 4.
  var matrixName: String? {
    switch matrix {
    case 0: "identity"
    case 1: "BT.709"
    case 4: "FCC 73.682"
    case 5, 6: "BT.601"
    case 7: "SMPTE 240M"
    case 8: "YCgCo"
    case 9: "BT.2020, non-constant luminance"
    case 10: "BT.2020, constant luminance"
    case 11: "SMPTE ST 2085"
    case 12: "chromaticity-derived, non-constant luminance"
    case 13: "chromaticity-derived, constant luminance"
    case 14: "BT.2100 ICtCp"
    default: nil
    }
  }

  var rangeName: String { isFullRange ? "full" : "limited" }
}
