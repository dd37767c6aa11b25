/// The reason why a variant is invalid.
package enum VariantError: Error, Equatable, CustomStringConvertible {
  case sideOutOfRange
  case qualityOutOfRange
  case cropWithoutFill
  case frameOutOfRange
  case effectOutOfRange
  case sizingOutOfRange
  /// The format holds one frame, and all are wanted.
  case stillFormat(Variant.Format)

  package var description: String {
    switch self {
    case .sideOutOfRange:
      "width and height must be from 1 to 16383 pixels"
    case .qualityOutOfRange:
      "the quality must be from 1 to 100"
    case .cropWithoutFill:
      "--crop needs --mode fill, fill-down or auto, because other modes have nothing to crop"
    case .frameOutOfRange:
      "a frame has a number from 0 to \(FrameSelection.numberRange.upperBound), and a time of at "
        + "most one day"
    case .effectOutOfRange:
      "blur and sharpen must be from 0 to \(Effects.sigmaRange.upperBound), the radius from 0 to "
        + "\(Effects.radiusRange.upperBound) pixels"
    case .sizingOutOfRange:
      "a density must be more than 0 and at most \(Sizing.densityRange.upperBound), and a limit of "
        + "pixels more than 0"
    case .stillFormat(let format):
      "\(format.rawValue) holds no animation; --animated needs --format auto, webp or gif"
    }
  }
}
