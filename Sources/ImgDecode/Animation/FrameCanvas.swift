import CVips

/// The canvas on which the frames of an animation are drawn: 8-bit samples of red, green, blue and
/// opacity, which is not premultiplied. It begins transparent.
struct FrameCanvas {
  /// How a frame changes the pixels under it.
  enum Blending {
    case source, over
  }

  static let bandCount = 4

  let size: ThumbnailGeometry.Size
  private var samples: [UInt8]

  init(_ size: ThumbnailGeometry.Size) {
    self.size = size
    samples = [UInt8](repeating: 0, count: size.width * size.height * Self.bandCount)
  }

  /// Where a row of an area lies in the samples of a canvas.
  private static func range(
    ofRow row: Int, in area: FrameArea, on size: ThumbnailGeometry.Size
  ) -> Range<Int> {
    let start = (row * size.width + area.left) * bandCount
    return start..<start + area.width * bandCount
  }

  /// Draws a frame.
  ///
  /// - Parameters:
  ///   - frame: samples like those of the canvas, row after row, as many as the area has.
  ///   - area: inside the canvas.
  mutating func draw(_ frame: Span<UInt8>, on area: FrameArea, _ blending: Blending) {
    let size = size
    var canvas = samples.mutableSpan
    var offset = 0
    for row in area.rows {
      let range = Self.range(ofRow: row, in: area, on: size)
      let source = frame.extracting(offset..<offset + range.count)
      switch blending {
      case .source: Self.copy(source, to: &canvas, at: range.lowerBound)
      case .over: Self.blend(source, over: &canvas, at: range.lowerBound)
      }
      offset += range.count
    }
  }

  /// Makes an area transparent.
  mutating func clear(_ area: FrameArea) {
    let size = size
    var canvas = samples.mutableSpan
    for row in area.rows {
      for index in Self.range(ofRow: row, in: area, on: size) { canvas[index] = 0 }
    }
  }

  /// The samples of an area, row after row.
  func contents(of area: FrameArea) -> [UInt8] {
    var contents: [UInt8] = []
    contents.reserveCapacity(area.width * area.height * Self.bandCount)
    for row in area.rows {
      contents += samples[Self.range(ofRow: row, in: area, on: size)]
    }
    return contents
  }

  /// A copy of the canvas.
  func image() throws(DecodeError) -> Image {
    try unsafe Image.filled(
      width: UInt32(size.width), height: UInt32(size.height), bandCount: Int32(Self.bandCount),
      interpretation: VIPS_INTERPRETATION_sRGB
    ) { (start) throws(DecodeError) in
      unsafe start.update(from: samples, count: samples.count)
    }
  }

  // MARK: - Samples

  private static func copy(
    _ source: Span<UInt8>, to canvas: inout MutableSpan<UInt8>, at offset: Int
  ) {
    let range = offset..<offset + source.count
    unsafe source.withUnsafeBufferPointer { source in
      unsafe canvas.withUnsafeMutableBufferPointer { canvas in
        _ = unsafe UnsafeMutableBufferPointer(rebasing: canvas[range]).update(from: source)
      }
    }
  }

  /// Composites a row (PNG Specification, third edition, section 13.16).
  private static func blend(
    _ source: Span<UInt8>, over canvas: inout MutableSpan<UInt8>, at offset: Int
  ) {
    for pixel in stride(from: 0, to: source.count, by: bandCount) {
      let opacity = Int(source[pixel + 3])
      let place = offset + pixel
      guard opacity > 0 else { continue }
      guard opacity < 255 else {
        for band in 0..<bandCount { canvas[place + band] = source[pixel + band] }
        continue
      }
      // Both in units of 1 / (255 × 255).
      let front = opacity * 255
      let back = (255 - opacity) * Int(canvas[place + 3])
      let sum = front + back
      for band in 0..<3 {
        let colour = Int(source[pixel + band]) * front + Int(canvas[place + band]) * back
        canvas[place + band] = UInt8((colour + sum / 2) / sum)
      }
      canvas[place + 3] = UInt8((sum + 127) / 255)
    }
  }
}
