import ImgModel

extension ImageVariant {
  /// The variant as the cluster knows it.
  ///
  /// - Throws: ``ImageError/Code/invalidRequest``.
  func model() throws(ImageError) -> Variant {
    guard let blur = Thousandths(number: blur), let sharpen = Thousandths(number: sharpen) else {
      throw ImageError(invalidRequest: "\(VariantError.effectOutOfRange)")
    }
    let crop = try crop?.model()
    do throws(VariantError) {
      return try Variant(
        width: width, height: height, mode: mode.model, crop: crop, enlarges: enlarges,
        format: format.model, quality: quality, frames: frames.model,
        effects: Effects(
          isGrayscale: isGrayscale, blur: blur, sharpen: sharpen, sharpenAmounts: sharpenAmounts,
          radius: cornerRadius, background: background?.model),
        keptData: KeptData(
          profile: keepsProfile, metadata: keepsMetadata, copyright: keepsCopyright),
        sizing: sizing)
    } catch {
      throw ImageError(invalidRequest: Self.reason(error))
    }
  }

  /// The reasons of the model speak of options of the command line.
  private static func reason(_ error: VariantError) -> String {
    switch error {
    case .cropWithoutFill:
      "a crop needs the mode fill, fillDown or auto: other modes have nothing to crop"
    case .stillFormat(let format):
      "\(format.rawValue) holds no animation; all frames need the format auto, webp or gif"
    case .sideOutOfRange, .qualityOutOfRange, .frameOutOfRange, .effectOutOfRange,
      .sizingOutOfRange:
      "\(error)"
    }
  }
}

extension ImageVariant.Mode {
  fileprivate var model: Variant.Mode {
    switch self {
    case .fit: .fit
    case .fill: .fill
    case .fillDown: .fillDown
    case .auto: .auto
    case .stretch: .stretch
    case .stretchDown: .stretchDown
    case .ownSize: .ownSize
    }
  }
}

extension ImageVariant.Format {
  fileprivate var model: Variant.Format {
    switch self {
    case .auto: .auto
    case .jpeg: .jpeg
    case .png: .png
    case .webp: .webp
    case .avif: .avif
    case .gif: .gif
    case .compatible: .compatible
    }
  }
}

extension ImageVariant.Crop {
  fileprivate func model() throws(ImageError) -> Crop {
    switch self {
    case .centre: return .centre
    case .attention: return .attention
    case .entropy: return .entropy
    case .point(let x, let y):
      guard let x = Thousandths(number: x), let y = Thousandths(number: y),
        Crop.coordinateRange.contains(x), Crop.coordinateRange.contains(y)
      else { throw ImageError(invalidRequest: "the point of a crop is from 0,0 to 1,1") }
      return .point(x: x, y: y)
    }
  }
}

extension ImageVariant.Frames {
  fileprivate var model: FrameSelection {
    switch self {
    case .first: .first
    case .number(let number): .number(number)
    case .time(let time): .time(Int(clamping: time.milliseconds))
    case .poster: .poster
    case .all: .all
    }
  }
}

extension ImageVariant.Colour {
  fileprivate var model: RGBColour { RGBColour(red: red, green: green, blue: blue) }
}

extension Thousandths {
  /// The nearest number of thousandths; `nil` for a negative, an infinite or a very large number.
  fileprivate init?(number: Double) {
    let count = (number * 1_000).rounded()
    guard count >= 0, count < 1e12 else { return nil }
    self.init(count: Int(count))
  }
}
