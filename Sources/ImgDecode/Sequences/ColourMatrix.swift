import ImgFacts

/// From luma and chroma to red, green and blue (ITU-T H.273 section 8.3).
struct ColourMatrix {
  /// For each of red, green and blue: what luma, the blue and the red difference add to it, per step
  /// of a sample, and what is added always. The results go from 0 to 255.
  let rows: [SIMD4<Float>]

  /// - Throws: ``DecodeError/unsupported(_:)``.
  init(_ codePoints: ColourCodePoints, bitsPerSample: Int) throws(DecodeError) {
    let weights = try Self.weights(of: codePoints.matrix)
    let range = SampleRange(isFull: codePoints.isFullRange, bitsPerSample: bitsPerSample)
    // Without chroma, the planes are green, blue and red.
    let chroma = codePoints.matrix == Self.identity ? range.luma : range.chroma
    rows = weights.map { weight in
      let scaled = weight * SIMD3(range.luma.scale, chroma.scale, chroma.scale)
      let offset =
        scaled.x * range.luma.origin + (scaled.y + scaled.z) * chroma.origin
      return SIMD4(scaled, -offset)
    }
  }

  private static let identity = 0

  private static func weights(of matrix: Int) throws(DecodeError) -> [SIMD3<Float>] {
    switch matrix {
    case identity: return [SIMD3(0, 0, 1), SIMD3(1, 0, 0), SIMD3(0, 1, 0)]
    case 1: return weights(red: 0.2126, blue: 0.0722)
    case 4: return weights(red: 0.30, blue: 0.11)
    // Unspecified, as libheif takes it.
    case 2, 5, 6: return weights(red: 0.299, blue: 0.114)
    case 7: return weights(red: 0.212, blue: 0.087)
    // YCgCo: the differences are those of green and of orange.
    case 8: return [SIMD3(1, -1, 1), SIMD3(1, 1, 0), SIMD3(1, -1, -1)]
    case 9: return weights(red: 0.2627, blue: 0.0593)
    default: throw .unsupported("video with the matrix coefficients \(matrix) of H.273")
    }
  }

  private static func weights(red: Float, blue: Float) -> [SIMD3<Float>] {
    let green = 1 - red - blue
    let (ofRed, ofBlue) = (2 * (1 - red), 2 * (1 - blue))
    return [
      SIMD3(1, 0, ofRed), SIMD3(1, -ofBlue * blue / green, -ofRed * red / green),
      SIMD3(1, ofBlue, 0),
    ]
  }
}

/// Which samples stand for the least and the greatest values.
struct SampleRange {
  /// From a sample to a value: `(sample - origin) * scale`.
  typealias Steps = (origin: Float, scale: Float)

  /// Values from 0 to 255.
  let luma: Steps
  /// Values from -127.5 to 127.5.
  let chroma: Steps

  init(isFull: Bool, bitsPerSample: Int) {
    let step = Float(1 << (bitsPerSample - 8))
    let greatest = Float(1 << bitsPerSample - 1)
    luma = isFull ? (0, 255 / greatest) : (16 * step, 255 / (219 * step))
    chroma = (128 * step, isFull ? 255 / greatest : 255 / (224 * step))
  }
}
