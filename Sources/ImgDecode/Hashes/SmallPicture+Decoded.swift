/// Small pictures from the pixels that a decode has at hand.
extension SmallPicture {
  /// Pixels along the longer side that a ThumbHash is computed from. It has seven frequencies along
  /// a side at most; more pixels would change hardly a bit of it.
  static let thumbHashSide = 24

  /// A frame in 8-bit sRGB in memory, whole and as it is stored.
  ///
  /// - Parameters:
  ///   - shape: the size of the picture as seen; the frame may be stretched.
  ///   - orientation: 1…8 as in EXIF.
  init(
    _ frame: borrowing Image, showing shape: ThumbnailGeometry.Size, orientation: Int,
    side: Int = thumbHashSide
  ) {
    let orientation = Orientation(orientation)
    let size = Self.size(shape, from: frame.size, orientation, side: side)
    let (bands, hasAlpha) = (Int(frame.bandCount), frame.hasAlpha)
    let means = frame.sampleMeans(size)
    let colourCount = hasAlpha ? bands - 1 : bands
    self.init(size, orientation) { pixel in
      let start = pixel * bands
      let (green, blue) = colourCount < 3 ? (0, 0) : (1, 2)
      return (
        means[start], means[start + green], means[start + blue],
        hasAlpha ? means[start + colourCount] : 255
      )
    }
  }

  /// A frame of luma and chroma, whole and as it is stored.
  init(_ frame: PlanarFrame, showing shape: ThumbnailGeometry.Size, orientation: Int) {
    let orientation = Orientation(orientation)
    let luma = frame.planes[0]
    let size = Self.size(
      shape, from: .init(width: luma.columns.sampleCount, height: luma.rows.sampleCount),
      orientation, side: Self.thumbHashSide)
    let means = frame.planes.map { $0.sampleMeans(size) }
    self.init(size, orientation) { pixel in
      let luma = means[0][pixel]
      guard means.count > 1 else { return (luma, luma, luma, 255) }
      return Self.pixel(luma: luma, blue: means[1][pixel], red: means[2][pixel])
    }
  }

  /// Turns pixels upright.
  ///
  /// - Parameters:
  ///   - size: as stored.
  ///   - pixel: the samples of a stored pixel, by its number.
  private init(
    _ size: ThumbnailGeometry.Size, _ orientation: Orientation,
    _ pixel: (Int) -> (UInt8, UInt8, UInt8, UInt8)
  ) {
    let (width, height) =
      orientation.isTransposed ? (size.height, size.width) : (size.width, size.height)
    var samples: [UInt8] = []
    samples.reserveCapacity(width * height * 4)
    for y in 0..<height {
      for x in 0..<width {
        let (storedX, storedY) = orientation.isTransposed ? (y, x) : (x, y)
        let column = orientation.reversesColumns ? size.width - 1 - storedX : storedX
        let row = orientation.reversesRows ? size.height - 1 - storedY : storedY
        let (red, green, blue, alpha) = pixel(row * size.width + column)
        samples.append(red)
        samples.append(green)
        samples.append(blue)
        samples.append(alpha)
      }
    }
    guard let picture = SmallPicture(width: width, height: height, samples: samples) else {
      preconditionFailure("a size is computed within the limits")
    }
    self = picture
  }

  /// The size as stored: the shape of the picture, with as many pixels as are of use and are there.
  private static func size(
    _ shape: ThumbnailGeometry.Size, from frame: ThumbnailGeometry.Size,
    _ orientation: Orientation, side: Int
  ) -> ThumbnailGeometry.Size {
    precondition(side <= maximumSide, "the pixels are few")
    let longest = min(side, max(frame.width, frame.height))
    let ratio = Double(longest) / Double(max(shape.width, shape.height))
    let count = { (length: Int) in max(1, Int((Double(length) * ratio).rounded())) }
    let (width, height) = (count(shape.width), count(shape.height))
    return orientation.isTransposed
      ? .init(width: height, height: width) : .init(width: width, height: height)
  }

  /// From the luma and the chroma of JFIF (ITU-T T.871, section 7).
  private static func pixel(
    luma: UInt8, blue: UInt8, red: UInt8
  ) -> (UInt8, UInt8, UInt8, UInt8) {
    let (y, cb, cr) = (Double(luma), Double(blue) - 128, Double(red) - 128)
    // rounded() is a call on x86-64.
    let sample = { (value: Double) in UInt8(min(max(value, 0), 255) + 0.5) }
    return (
      sample(y + 1.402 * cr), sample(y - 0.344136 * cb - 0.714136 * cr), sample(y + 1.772 * cb), 255
    )
  }
}
