import ImgModel

/// What a program shows in the place of a picture that is not there yet, or cannot be had.
///
/// ```swift
/// let placeholder = ImagePlaceholder.symbol(.photo)
/// let body = placeholder.svg(width: 256, height: 256)  // of the type image/svg+xml
/// ```
///
/// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
@nonexhaustive
public enum ImagePlaceholder: Hashable, Sendable {
  /// A drawing that is built in: grey, on a transparent ground.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Symbol: String, Hashable, Sendable, CaseIterable {
    /// A landscape in a frame.
    case photo
    /// A disc.
    case circle
    /// A head and shoulders.
    case person
    /// A cloud.
    case cloud
  }

  /// Nothing: transparent.
  case none
  /// One colour.
  case colour(ImageVariant.Colour)
  /// The blurred picture of a ThumbHash, see ``LoadedImage/thumbHash``. Bytes that are no ThumbHash show
  /// nothing.
  case thumbHash([UInt8])
  /// A drawing that is built in.
  case symbol(Symbol)
  /// A short text in the middle, such as initials.
  case text(String)

  /// The placeholder as pixels, stretched to a size.
  ///
  /// - Returns: `nil` for a symbol and a text, which only ``svg(width:height:)`` draws, and if a side is not
  ///   positive.
  public func pixels(width: Int, height: Int) -> ImagePixels? {
    switch self {
    case .none: Self.transparent(width: width, height: height)
    case .colour(let colour):
      ImagePixels(width: width, height: height, filledWith: ImagePixels.Pixel(colour))
    case .thumbHash(let bytes):
      if let hash = ThumbHash(bytes: bytes) {
        ThumbHashDrawing(hash).pixels(width: width, height: height)
      } else {
        Self.transparent(width: width, height: height)
      }
    case .symbol, .text: nil
    }
  }

  private static func transparent(width: Int, height: Int) -> ImagePixels? {
    let pixel = ImagePixels.Pixel(red: 0, green: 0, blue: 0, alpha: 0)
    return ImagePixels(width: width, height: height, filledWith: pixel)
  }

  /// The placeholder as a file of the type `image/svg+xml`, which refers to nothing outside. Symbols and
  /// texts keep their proportions; the others are stretched.
  ///
  /// - Parameters:
  ///   - width: in pixels; at least 1 counts.
  ///   - height: in pixels; at least 1 counts.
  public func svg(width: Int, height: Int) -> [UInt8] {
    let drawing = PlaceholderDrawing(width: max(1, width), height: max(1, height))
    return Array(drawing.document(of: self).utf8)
  }
}

extension LoadedImage {
  /// The blurred picture that its ``thumbHash`` describes; ``ImagePlaceholder/none`` without one.
  public var placeholder: ImagePlaceholder { thumbHash.map(ImagePlaceholder.thumbHash) ?? .none }
}
