import ImgModel

extension LoadedImage {
  /// The average colour of the picture, as its ``thumbHash`` tells; `nil` without one.
  public var averageColour: ImageVariant.Colour? {
    thumbHash.flatMap(ThumbHash.init).map { ThumbHashDrawing($0).averageColour }
  }
}
