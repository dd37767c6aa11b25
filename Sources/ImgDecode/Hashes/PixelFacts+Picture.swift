import ImgModel

extension PixelFacts {
  /// Parts of a share that are told.
  private static let shareStep = 10_000.0

  /// - Parameters:
  ///   - picture: of at most ``SmallPicture/maximumSide`` pixels a side.
  ///   - thumbHash: as thumbnails have it.
  init(_ picture: SmallPicture, thumbHash: ThumbHash) {
    let palette = ColourPalette(picture).colours.compactMap { colour -> Colour? in
      let share = (colour.share * Self.shareStep).rounded() / Self.shareStep
      guard share > 0 else { return nil }
      return Colour(
        RGBColour(red: colour.red, green: colour.green, blue: colour.blue), share: share)
    }
    let facts = PixelFacts(
      thumbHash: thumbHash, blurHash: BlurHash(of: picture), palette: palette)
    guard let facts else { preconditionFailure("what is computed here has the form of facts") }
    self = facts
  }
}
