import ImgFacts
import ImgModel

/// The major brand (ISO/IEC 14496-12 section 4.3) of a file whose pictures follow each other in time.
///
/// Many of them hold their first picture once more as a still. libheif 1.15 decodes it, but refuses
/// the file by its brand.
enum SequenceBrand {
  /// - Returns: a brand of stills, the first letter uppermost, for a file that has one of sequences.
  static func replacement(in input: PictureInput, as format: ImageFormat) -> UInt32? {
    guard [.avif, .heif].contains(format) else { return nil }
    let brand = String(decoding: input.bytes(at: 8, upTo: 4), as: UTF8.self)
    guard HEIFBrand.isSequence(brand) else { return nil }
    let still = format == .avif ? "avif" : "heic"
    return still.utf8.reduce(0) { $0 << 8 | UInt32($1) }
  }
}
