import ImgFacts

/// Kinds of TIFF that exist and that are not decoded.
struct TIFFFeatures {
  private enum Tag {
    static let bitsPerSample = 258
    static let compression = 259
    static let photometricInterpretation = 262
    static let sampleFormat = 339
    static let minimumSample = 340
    static let maximumSample = 341
  }

  /// Photometric interpretations that are decoded, as far as the other tags allow: gray in both
  /// directions, RGB, palette, CMYK, YCbCr and CIE L*a*b* (TIFF 6.0 sections 4 to 6, 16, 21, 23).
  private static let interpretations = [0, 1, 2, 3, 5, 6, 8]
  /// Compressions that are decoded: none, the fax codes, LZW, both of JPEG, both of Deflate,
  /// PackBits.
  private static let compressions = [1, 2, 3, 4, 5, 6, 7, 8, 32_773, 32_946]

  private static let jpegCompressions = [6, 7]
  private static let lumaAndChroma = 6

  private let directory: TIFFDirectory

  /// - Returns: `nil` when there is no directory to read. BigTIFF is not looked into.
  init?(of input: PictureInput) {
    guard let file = try? TIFFFile(ByteWindow(input)), !file.isBig,
      let directory = try? file.directory(at: file.firstDirectoryOffset)
    else { return nil }
    self.directory = directory
  }

  private func value(_ tag: Int) -> Int? { try? directory.firstNumber(tag) }

  /// What black and white are in floating point, as the file says (TIFF 6.0 section 19); `nil` where it does not.
  var sampleRange: ClosedRange<Double>? {
    guard let low = try? directory.firstReal(Tag.minimumSample),
      let high = try? directory.firstReal(Tag.maximumSample), low.isFinite, high.isFinite,
      low < high
    else { return nil }
    return low...high
  }

  /// What the samples mean, where the loader would show them in wrong colours, or as gray; `nil` where
  /// it would not.
  var unknownInterpretation: String? {
    guard let interpretation = value(Tag.photometricInterpretation) else { return nil }
    guard Self.interpretations.contains(interpretation) else {
      return "TIFF of photometric interpretation \(interpretation)"
    }
    // The decoder of JPEG converts the colours. The loader takes those of other compressions for RGB.
    let isJPEG = Self.jpegCompressions.contains(value(Tag.compression) ?? 1)
    return interpretation == Self.lumaAndChroma && !isJPEG ? "TIFF in YCbCr without JPEG" : nil
  }

  /// The first feature for which a file cannot be decoded, in words for people; `nil` when it has
  /// none, so that it must be damaged.
  var undecoded: String? {
    if let compression = value(Tag.compression), !Self.compressions.contains(compression) {
      return "TIFF of compression \(compression)"
    }
    if let format = value(Tag.sampleFormat), format != 1 {
      return "TIFF with signed or floating-point samples"
    }
    // Bits are packed without gaps, which only 1, 8 and 16 of them make easy.
    if let bits = value(Tag.bitsPerSample), ![1, 8, 16].contains(bits) {
      return "TIFF with \(bits)-bit samples"
    }
    return nil
  }
}
