/// The major brand of a HEIF or AVIF file (ISO/IEC 14496-12 section 4.3).
package enum HEIFBrand {
  /// Those of files whose pictures follow each other in time (ISO/IEC 23008-12 annex B, AVIF
  /// section 6).
  private static let sequences: Set = ["avis", "msf1", "hevc", "hevx", "hevm", "hevs"]

  package static func isSequence(_ brand: String) -> Bool { sequences.contains(brand) }
}
