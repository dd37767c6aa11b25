import ImgFacts
import ImgModel

/// What a file says of its colours without a profile, where that counts more than a profile in it, as a
/// profile.
enum DescribedColours {
  case sRGB
  case other(rgb: [UInt8], gray: [UInt8])

  /// A decoder of JPEG XL and of other formats makes a profile by itself, of all but HDR.
  ///
  /// - Returns: `nil` for colours that only a profile describes, and for those that nothing does.
  init?(_ input: PictureInput, as format: ImageFormat) {
    guard [.png, .avif, .heif, .jxl].contains(format),
      let facts = try? PictureFacts.reading(input, .header)
    else { return nil }
    switch facts.colours?.origin {
    case .codePoints:
      guard let codePoints = facts.codePoints, format != .jxl || codePoints.isHDR else {
        return nil
      }
      self.init(codePoints, asStored: format == .png)
    case .gamma:
      guard let gamma = facts.gamma else { return nil }
      self.init(gamma: gamma, facts.chromaticities)
    case .profile, .standard, nil: return nil
    }
  }

  /// What is unspecified counts as that of sRGB, as browsers take it.
  ///
  /// - Parameter asStored: whether the samples still have the range that the file says; a decoder of
  ///   video has brought them to the full one.
  init(_ codePoints: ColourCodePoints, asStored: Bool = false) {
    let space = Chromaticities(primaries: codePoints.primaries).flatMap(RGBSpace.init(checking:))
    let isLimited = asStored && !codePoints.isFullRange
    // As Chromium has it: levels of television in AVIF and HEIC are those of sRGB, in a PNG those of BT.1886.
    let curve =
      ToneCurve(transfer: codePoints.transfer, television: asStored ? .bt1886 : .sRGB) ?? .sRGB
    let shown = ColourCodePoints(
      primaries: codePoints.primaries, transfer: codePoints.transfer, matrix: 0,
      isFullRange: !isLimited)
    self.init(
      space ?? .sRGB, isLimited && !codePoints.isHDR ? curve.ofLimitedRange : curve,
      codePoints: codePoints.isHDR ? shown : nil)
  }

  /// The exponents that a file may have; beyond them nothing of the picture would be left.
  private static let exponents = 0.2...6.0
  /// Of what a file says when it means the levels of a screen, such as 0.45455 or 0.45.
  private static let usualExponents = 2.15...2.25

  /// By the chunks gAMA and cHRM (PNG Specification, third edition, section 11.3.2).
  private init?(gamma: Double, _ chromaticities: Chromaticities?) {
    let exponent = 1 / gamma
    guard Self.exponents.contains(exponent) else { return nil }
    // Browsers take it for sRGB where no primaries say that a program knew what it wrote.
    if chromaticities == nil, Self.usualExponents.contains(exponent) { return nil }
    let space = chromaticities.flatMap(RGBSpace.init(checking:)) ?? .sRGB
    self.init(space, .power(exponent), codePoints: nil)
  }

  private init(_ space: RGBSpace, _ curve: ToneCurve, codePoints: ColourCodePoints?) {
    let rgb = ICCProfile.rgb(space.colorants, curve, codePoints: codePoints)
    guard ICCProfile(rgb)?.isSRGB != true else {
      self = .sRGB
      return
    }
    self = .other(rgb: rgb, gray: ICCProfile.gray(curve, codePoints: codePoints))
  }
}

extension Image {
  /// Takes colours for what their file says, and not for what a profile in it does.
  func setColours(_ colours: DescribedColours) {
    removeProfile()
    guard case .other(let rgb, let gray) = colours else { return }
    setProfile(bandCount < 3 ? gray : rgb)
  }
}
