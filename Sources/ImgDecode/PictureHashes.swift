import Glibc
package import ImgModel

/// Transparency is ignored.
extension BlurHash {
  package init(of picture: SmallPicture) {
    guard let hash = BlurHash(Self.text(of: picture)) else {
      preconditionFailure("what is computed here has the form of a BlurHash")
    }
    self = hash
  }

  private static func text(of picture: SmallPicture) -> String {
    let light = (0..<256).map { Self.light(of: Double($0) / 255) }
    let planes = (0..<3).map { channel in
      (0..<picture.pixelCount).map { light[Int(picture.samples[$0 * 4 + channel])] }
    }
    var factors: [[Double]] = []
    for row in 0..<rowCount {
      for column in 0..<columnCount {
        let basis = basis(column, row, of: picture)
        factors.append(
          planes.map { plane in
            var sum = 0.0
            for (factor, light) in zip(basis, plane) { sum += factor * light }
            return sum / Double(picture.pixelCount)
          })
      }
    }
    let details = factors.dropFirst()
    let greatest = details.joined().reduce(0) { max($0, abs($1)) }
    let step = max(0, min(82, Int((greatest * 166 - 0.5).rounded(.down))))
    let scale = Double(step + 1) / 166
    let size = columnCount - 1 + (rowCount - 1) * 9
    let average = factors[0].reduce(0) { $0 << 8 | sample(of: $1) }
    return characters(size, 1) + characters(step, 1) + characters(average, 4)
      + details.map { characters(number(of: $0, scale: scale), 2) }.joined()
  }

  private static func basis(_ column: Int, _ row: Int, of picture: SmallPicture) -> [Double] {
    let weight = column == 0 && row == 0 ? 1.0 : 2.0
    let across = (0..<picture.width).map { x in
      cos(Double.pi * Double(column) * Double(x) / Double(picture.width))
    }
    return (0..<picture.height).flatMap { y in
      let factor = cos(Double.pi * Double(row) * Double(y) / Double(picture.height))
      return across.map { weight * $0 * factor }
    }
  }

  /// Three numbers of 19 steps, finer for small ones.
  private static func number(of detail: [Double], scale: Double) -> Int {
    detail.reduce(0) { number, value in
      let part = value / scale
      let root = part < 0 ? -abs(part).squareRoot() : part.squareRoot()
      return number * 19 + max(0, min(18, Int((root * 9 + 9.5).rounded(.down))))
    }
  }

  private static func characters(_ number: Int, _ count: Int) -> String {
    var (rest, text) = (number, "")
    for _ in 0..<count {
      text = String(digits[rest % 83]) + text
      rest /= 83
    }
    return text
  }

  // MARK: - The transfer function of sRGB

  private static func light(of sample: Double) -> Double {
    sample <= 0.04045 ? sample / 12.92 : pow((sample + 0.055) / 1.055, 2.4)
  }

  private static func sample(of light: Double) -> Int {
    let light = max(0, min(1, light))
    let sample = light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055
    return Int(sample * 255 + 0.5)
  }
}

/// The bytes are those of the reference implementation, and so every sum here has the order of the terms
/// that it has there.
extension ThumbHash {
  package init(of picture: SmallPicture) {
    guard let hash = ThumbHash(bytes: Self.bytes(of: picture)) else {
      preconditionFailure("what is computed here has the form of a ThumbHash")
    }
    self = hash
  }

  private static func bytes(of picture: SmallPicture) -> [UInt8] {
    let planes = Planes(picture)
    let (width, height) = (picture.width, picture.height)
    // Fewer frequencies of luminance leave room for those of transparency.
    let limit = Double(planes.hasAlpha ? 5 : 7)
    let longest = Double(max(width, height))
    let columns = max(1, rounded(limit * Double(width) / longest))
    let rows = max(1, rounded(limit * Double(height) / longest))
    let transform = { (plane: [Double], columns: Int, rows: Int) in
      Frequencies(of: plane, width: width, height: height, columns: columns, rows: rows)
    }
    let luminance = transform(planes.luminance, max(3, columns), max(3, rows))
    let yellowBlue = transform(planes.yellowBlue, 3, 3)
    let redGreen = transform(planes.redGreen, 3, 3)
    let alpha = planes.hasAlpha ? transform(planes.alpha, 5, 5) : nil

    let isLandscape = width > height
    var header = rounded(63 * luminance.average)
    header |= rounded(31.5 + 31.5 * yellowBlue.average) << 6
    header |= rounded(31.5 + 31.5 * redGreen.average) << 12
    header |= rounded(31 * luminance.scale) << 18 | (alpha == nil ? 0 : 1) << 23
    var shape = isLandscape ? rows : columns
    shape |= rounded(63 * yellowBlue.scale) << 3 | rounded(63 * redGreen.scale) << 9
    shape |= (isLandscape ? 1 : 0) << 15
    var bytes = [header, header >> 8, header >> 16, shape, shape >> 8]
      .map { UInt8(truncatingIfNeeded: $0) }
    if let alpha {
      bytes.append(
        UInt8(truncatingIfNeeded: rounded(15 * alpha.average) | rounded(15 * alpha.scale) << 4))
    }
    let nibbles = [luminance, yellowBlue, redGreen, alpha].compactMap { $0 }
      .flatMap(\.details).map { UInt8(truncatingIfNeeded: rounded(15 * $0)) }
    for start in stride(from: 0, to: nibbles.count, by: 2) {
      bytes.append(nibbles[start] | (start + 1 < nibbles.count ? nibbles[start + 1] << 4 : 0))
    }
    return bytes
  }

  /// As ECMAScript rounds: halves go up.
  private static func rounded(_ value: Double) -> Int { Int((value + 0.5).rounded(.down)) }

  /// The picture on its average colour.
  private struct Planes {
    var luminance: [Double]
    var yellowBlue: [Double]
    var redGreen: [Double]
    var alpha: [Double]
    let hasAlpha: Bool

    init(_ picture: SmallPicture) {
      let count = picture.pixelCount
      var (red, green, blue, sum) = (0.0, 0.0, 0.0, 0.0)
      for pixel in 0..<count {
        let alpha = picture.sample(pixel, 3) / 255
        red += alpha / 255 * picture.sample(pixel, 0)
        green += alpha / 255 * picture.sample(pixel, 1)
        blue += alpha / 255 * picture.sample(pixel, 2)
        sum += alpha
      }
      if sum > 0 { (red, green, blue) = (red / sum, green / sum, blue / sum) }
      hasAlpha = sum < Double(count)
      luminance = [Double](repeating: 0, count: count)
      (yellowBlue, redGreen, alpha) = (luminance, luminance, luminance)
      for pixel in 0..<count {
        let alpha = picture.sample(pixel, 3) / 255
        let r = red * (1 - alpha) + alpha / 255 * picture.sample(pixel, 0)
        let g = green * (1 - alpha) + alpha / 255 * picture.sample(pixel, 1)
        let b = blue * (1 - alpha) + alpha / 255 * picture.sample(pixel, 2)
        luminance[pixel] = (r + g + b) / 3
        yellowBlue[pixel] = (r + g) / 2 - b
        redGreen[pixel] = r - g
        self.alpha[pixel] = alpha
      }
    }
  }

  /// The lowest frequencies of a discrete cosine transform: those in the triangle below a diagonal.
  private struct Frequencies {
    var average = 0.0
    /// The greatest of the others.
    var scale = 0.0
    /// The others, from 0 to 1.
    var details: [Double] = []

    init(of plane: [Double], width: Int, height: Int, columns: Int, rows: Int) {
      let across = (0..<columns).map { Self.cosines(of: $0, sampleCount: width) }
      let down = (0..<rows).map { Self.cosines(of: $0, sampleCount: height) }
      for row in 0..<rows {
        for column in 0..<columns where column * rows < columns * (rows - row) {
          let value = Self.frequency(across[column], down[row], of: plane)
          if column > 0 || row > 0 {
            details.append(value)
            scale = max(scale, abs(value))
          } else {
            average = value
          }
        }
      }
      guard scale > 0 else { return }
      details = details.map { 0.5 + 0.5 / scale * $0 }
    }

    private static func cosines(of frequency: Int, sampleCount: Int) -> [Double] {
      (0..<sampleCount).map {
        cos(Double.pi / Double(sampleCount) * Double(frequency) * (Double($0) + 0.5))
      }
    }

    private static func frequency(
      _ across: [Double], _ down: [Double], of plane: [Double]
    ) -> Double {
      var sum = 0.0
      var index = 0
      for vertical in down {
        for horizontal in across {
          sum += plane[index] * horizontal * vertical
          index += 1
        }
      }
      return sum / Double(plane.count)
    }
  }
}

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
  ///
  /// - Parameter conversion: to sRGB, for a frame in other colours.
  init(
    _ frame: PlanarFrame, showing shape: ThumbnailGeometry.Size, orientation: Int,
    _ conversion: ColourConversion?
  ) {
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
    conversion?.convert(&samples, bandCount: 4)
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

/// The pixels of a picture that is small enough to be summed up in a few bytes.
package struct SmallPicture: Sendable {
  /// More pixels take longer, and change nothing that a placeholder shows.
  package static let maximumSide = 100

  package let width: Int
  package let height: Int
  /// Red, green, blue and alpha of each pixel, row by row, in sRGB and not multiplied by alpha.
  private(set) var samples: [UInt8]

  /// - Returns: `nil` unless both sides are 1…``maximumSide`` and each pixel has four samples.
  package init?(width: Int, height: Int, samples: [UInt8]) {
    let sides = 1...Self.maximumSide
    guard sides.contains(width), sides.contains(height), samples.count == width * height * 4 else {
      return nil
    }
    (self.width, self.height, self.samples) = (width, height, samples)
  }

  var pixelCount: Int { width * height }

  /// A sample of a pixel: 0 is red, 3 is alpha.
  func sample(_ pixel: Int, _ channel: Int) -> Double { Double(samples[pixel * 4 + channel]) }
}
