import ImgClient
import ImgModel

extension ImageVariant {
  /// The variant of a job.
  ///
  /// - Returns: `nil` if it decides about embedded previews, which a request cannot do.
  init?(_ variant: Variant) {
    guard variant.embeddedUse == .auto, let mode = Mode(rawValue: variant.mode.rawValue),
      let format = Format(rawValue: variant.format.rawValue)
    else { return nil }
    self.init(
      width: variant.width, height: variant.height, mode: mode, crop: variant.crop.map(Crop.init),
      format: format)
    enlarges = variant.enlarges
    sizing = variant.sizing
    quality = variant.quality
    frames = Frames(variant.frames)
    isGrayscale = variant.effects.isGrayscale
    blur = variant.effects.blur.value
    sharpen = variant.effects.sharpen.value
    sharpenAmounts = variant.effects.sharpenAmounts
    cornerRadius = variant.effects.radius
    background = variant.effects.background.map {
      Colour(red: $0.red, green: $0.green, blue: $0.blue)
    }
    keepsProfile = variant.keptData.profile
    keepsMetadata = variant.keptData.metadata
    keepsCopyright = variant.keptData.copyright
  }
}

extension ImageVariant.Crop {
  fileprivate init(_ crop: Crop) {
    self =
      switch crop {
      case .centre: .centre
      case .attention: .attention
      case .entropy: .entropy
      case .point(let x, let y): .point(x: x.value, y: y.value)
      }
  }
}

extension ImageVariant.Frames {
  fileprivate init(_ frames: FrameSelection) {
    self =
      switch frames {
      case .first: .first
      case .number(let number): .number(number)
      case .time(let milliseconds): .time(.milliseconds(milliseconds))
      case .poster: .poster
      case .all: .all
      }
  }
}
