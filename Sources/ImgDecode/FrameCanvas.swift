import CVips
import ImgFacts

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

/// Frames that show nothing yet, such as a black one from which a film fades in.
enum BlankFrame {
  /// The standard deviation of samples of 8 bits below which pixels look alike: grain and the damage
  /// of a lossy code stay below it, and a thousandth of black pixels on white does not.
  private static let smallestSpread = 4.0

  /// Whether the pixels of a thumbnail look alike.
  ///
  /// - Parameters:
  ///   - samples: in 8-bit sRGB.
  ///   - bandCount: 3, or 4 with the opacity. A transparent pixel has no colour.
  static func isBlank(_ samples: Span<UInt8>, bandCount: Int) -> Bool {
    let hasAlpha = bandCount == 4
    var sums = [Double](repeating: 0, count: bandCount)
    var squares = sums
    for pixel in stride(from: 0, to: samples.count, by: bandCount) {
      let opacity = hasAlpha ? Double(samples[pixel + 3]) / 255 : 1
      for band in 0..<bandCount {
        let value = Double(samples[pixel + band]) * (band < 3 ? opacity : 1)
        sums[band] += value
        squares[band] += value * value
      }
    }
    let count = Double(samples.count / bandCount)
    return zip(sums, squares).allSatisfy { sum, square in
      square / count - (sum / count) * (sum / count) < smallestSpread * smallestSpread
    }
  }
}

/// A rectangle of a canvas, in pixels.
struct FrameArea: Equatable {
  let left: Int
  let top: Int
  let width: Int
  let height: Int

  var rows: Range<Int> { top..<top + height }

  /// Whether all of it, and at least one pixel, lies on a canvas.
  func isInside(_ canvas: ThumbnailGeometry.Size) -> Bool {
    width > 0 && height > 0 && left >= 0 && top >= 0
      && left <= canvas.width - width && top <= canvas.height - height
  }

  /// What of it lies on a canvas; `nil` for nothing. No side or edge is negative.
  func part(on canvas: ThumbnailGeometry.Size) -> FrameArea? {
    let part = FrameArea(
      left: left, top: top, width: min(width, canvas.width - left),
      height: min(height, canvas.height - top))
    return part.width > 0 && part.height > 0 ? part : nil
  }
}

/// The frames of an animation in their order. Used by one thread.
protocol FrameSequence: AnyObject {
  /// The next frame as it is seen: the whole canvas, not turned upright, in the colours of the file.
  /// Its pixels are decoded.
  ///
  /// - Returns: `nil` behind the last.
  func next() throws(DecodeError) -> Image?
}

/// The frames of an animation that is being made, one below the other: that is how libvips' savers
/// take them.
struct FrameStrip: ~Copyable {
  private let image: Image
  private let size: ThumbnailGeometry.Size
  private let capacity: Int
  private var count = 0

  /// - Parameters:
  ///   - size: of a frame.
  ///   - capacity: how many frames there will be.
  /// - Throws: when there is no memory for all of them.
  init(_ size: ThumbnailGeometry.Size, capacity: Int) throws(VipsError) {
    guard let height = Int32(exactly: size.height * capacity), height <= VIPS_MAX_COORD,
      let pointer = unsafe img_vips_new_pixels(
        Int32(size.width), height, Int32(FrameCanvas.bandCount), VIPS_FORMAT_UCHAR,
        VIPS_INTERPRETATION_sRGB)
    else { throw .outOfMemory(in: "frames") }
    image = unsafe Image(owning: pointer)
    self.size = size
    self.capacity = capacity
  }

  /// Adds a copy of a frame of that size, in 8-bit sRGB.
  mutating func append(_ frame: borrowing Image) throws(VipsError) {
    precondition(count < capacity && frame.size == size, "a frame fits into the strip")
    let offset = count * size.width * size.height * FrameCanvas.bandCount
    let start = unsafe img_vips_pixels(image.pointer) + offset
    try frame.retained().withAlpha().inMemory().withSamples { samples in
      unsafe samples.withUnsafeBufferPointer { buffer in
        guard let first = buffer.baseAddress else { return }
        unsafe start.update(from: first, count: buffer.count)
      }
    }
    count += 1
  }

  /// All frames, without an alpha channel if no pixel is transparent.
  ///
  /// - Parameters:
  ///   - delays: in milliseconds, one for each frame.
  ///   - loopCount: 0 means forever.
  consuming func animation(delays: [Int], loopCount: Int) throws(VipsError) -> Image {
    precondition(count == capacity && delays.count == count, "every frame is there")
    let numbers = delays.map { Int32(clamping: $0) }
    unsafe vips_image_set_int(image.pointer, VIPS_META_PAGE_HEIGHT, Int32(size.height))
    unsafe vips_image_set_array_int(image.pointer, "delay", numbers, Int32(numbers.count))
    unsafe vips_image_set_int(image.pointer, "loop", Int32(clamping: loopCount))
    return image.isOpaque ? try image.retained().withoutAlpha() : image.retained()
  }
}

/// When each frame of an animation is shown.
struct Timeline: Equatable {
  /// In milliseconds, as browsers play the file; one for each frame.
  let delays: [Int]
  /// How often the animation plays; 0 means forever.
  let loopCount: Int

  /// - Parameter delays: in milliseconds, as the file says them.
  init(delays: [Int], loopCount: Int) {
    self.delays = delays.map(FrameDelay.played)
    self.loopCount = loopCount
  }

  /// The number of the frame that is shown at a time. After the end that is the last frame, where an
  /// animation that plays once stays.
  ///
  /// - Parameter milliseconds: after the start of the first pass.
  func frame(at milliseconds: Int) -> Int {
    var end = 0
    for (number, delay) in delays.enumerated() {
      end += delay
      if milliseconds < end { return number }
    }
    return max(0, delays.count - 1)
  }
}
