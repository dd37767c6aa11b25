import CVips
import ImgFacts
import ImgModel

/// An AVIF or HEIC sequence, opened as what its frames have in common.
final class SequencePicture: OpenPicture {
  let header: PictureHeader
  private let sequence: PictureSequence
  private let input: PictureInput
  /// Of the frames.
  private let depth: ImageVariant.Depth

  /// The sequence that a thumbnail is made from.
  ///
  /// - Returns: `nil` for other files, and if the still of the file is shown: because it is what was
  ///   asked for, or because the sequence is in a codec that is not decoded.
  static func sequence(
    in input: PictureInput, as format: ImageFormat, _ selection: ImageVariant.Frames
  ) throws(DecodeError) -> PictureSequence? {
    guard let file = SequenceFile(input, as: format) else { return nil }
    if file.hasStill, selection == .first { return nil }
    do throws(FactsError) {
      return try file.sequence()
    } catch {
      if file.hasStill, selection == .poster { return nil }
      guard case .unsupported(let feature) = error else { throw DecodeError(error) }
      if file.hasStill { return nil }
      throw .unsupportedAnimation(feature)
    }
  }

  /// - Returns: `nil` for other files, and for one whose frames cannot be decoded.
  static func frameCount(in input: PictureInput, as format: ImageFormat) -> Int? {
    try? SequenceFile(input, as: format)?.sequence().frameCount
  }

  /// - Parameter depth: as of ``SequenceFrames``.
  init(_ sequence: PictureSequence, in input: PictureInput, _ depth: ImageVariant.Depth) {
    self.depth = SequenceFrames.depth(depth, of: input)
    let track = sequence.colours
    let decoded = ThumbnailGeometry.Size(width: track.width, height: track.height)
    let shown = track.shownArea.map { ThumbnailGeometry.Size(width: $0.width, height: $0.height) }
    header = PictureHeader(
      stored: shown ?? decoded, orientation: track.orientation, frames: track.samples.count,
      uncropped: decoded, hasMoreThanEightBits: self.depth != .eight)
    self.sequence = sequence
    self.input = input
  }

  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    let frames = try SequenceFrames(sequence, in: input, depth)
    guard let frame = try frames.next() else { throw .corrupt("it has no frame") }
    return frame
  }
}

/// The frames of an AVIF or HEIC sequence.
final class SequenceFrames: FrameSequence {
  private let size: ThumbnailGeometry.Size
  private let colours: any VideoDecoder
  private let alpha: (any VideoDecoder)?
  private let isPremultiplied: Bool
  /// The part of each frame that is shown; `nil` for all.
  private let shownArea: PixelArea?
  private let profile: [UInt8]?
  /// A sample of AV1 may show several frames, which the file does not count.
  private var remaining: Int
  private let depth: ImageVariant.Depth

  /// - Parameters:
  ///   - sequence: one whose size is within the limits.
  ///   - first: the frame that comes first. Those before it are decoded, too.
  ///   - depth: of the samples of a frame; those of a file with 8 bits have 8.
  init(
    _ sequence: PictureSequence, in input: PictureInput, startingAt first: Int = 0,
    _ depth: ImageVariant.Depth = .eight
  ) throws(DecodeError) {
    self.depth = Self.depth(depth, of: input)
    size = .init(width: sequence.colours.width, height: sequence.colours.height)
    colours = try Self.decoder(of: sequence.colours, in: input)
    alpha = try sequence.alpha.map { (track) throws(DecodeError) in
      try Self.decoder(of: track, in: input)
    }
    isPremultiplied = sequence.isPremultiplied
    shownArea = sequence.colours.shownArea
    profile = sequence.colours.profile
    remaining = sequence.frameCount - first
    for _ in 0..<first {
      _ = try colours.next { (picture) throws(DecodeError) in try checkSize(of: picture) }
      _ = try alpha?.next { (picture) throws(DecodeError) in try checkSize(of: picture) }
    }
  }

  /// The depth that the frames of a file have where that one is wanted.
  static func depth(
    _ wanted: ImageVariant.Depth, of input: PictureInput
  ) -> ImageVariant.Depth {
    guard wanted != .eight,
      let bits = (try? PictureFacts.reading(input, .header))?.bitsPerSample, bits > 8
    else { return .eight }
    return wanted
  }

  private static func decoder(
    of track: SequenceTrack, in input: PictureInput
  ) throws(DecodeError) -> any VideoDecoder {
    switch track.codec {
    case .av1: try AV1Decoder(track, in: input)
    case .hevc(let configuration): try HEVCDecoder(track, configuration, in: input)
    }
  }

  func next() throws(DecodeError) -> Image? {
    guard remaining > 0 else { return nil }
    remaining -= 1
    return depth == .eight ? try next(in: UInt8.self) : try next(in: UInt16.self)
  }

  private func next<Value: UnsignedSample>(
    in value: Value.Type
  ) throws(DecodeError) -> Image? {
    let transparency: [Value]? = try alpha?.next { (picture) throws(DecodeError) in
      try checkSize(of: picture)
      return picture.lumaValues()
    }
    return try colours.next { (picture) throws(DecodeError) in
      try checkSize(of: picture)
      guard alpha == nil || transparency != nil else {
        throw .corrupt("a frame lacks its transparency")
      }
      return try image(of: picture, transparency)
    }
  }

  private func image<Value: UnsignedSample>(
    of picture: VideoPicture, _ transparency: [Value]?
  ) throws(DecodeError) -> Image {
    let image = try picture.image(in: Value.self, alpha: transparency)
    if let profile {
      if image.bandCount > 2 { image.setProfile(profile) }
    } else if picture.codePoints.describesColours {
      image.setColours(DescribedColours(picture.codePoints))
    }
    do throws(VipsError) {
      let shown = try cropped(image)
      guard isPremultiplied else { return shown }
      return try shown.withColoursDivided(as: Value.depth).inMemory()
    } catch {
      throw DecodeError(error)
    }
  }

  private func cropped(_ image: consuming Image) throws(VipsError) -> Image {
    guard let area = shownArea else { return image }
    return try image.cropped(
      left: area.left, top: area.top, width: area.width, height: area.height
    ).inMemory()
  }

  /// A stream may change its size in between.
  private func checkSize(of picture: VideoPicture) throws(DecodeError) {
    guard picture.size == size else {
      throw .corrupt("a frame has \(picture.size.width) × \(picture.size.height) pixels")
    }
  }
}

/// A decoder of the samples of one track. Used by one thread; it starts none.
protocol VideoDecoder: AnyObject {
  /// Decodes up to the next picture in the order in which they are shown.
  ///
  /// - Parameter body: is called with the picture, whose samples are valid until it returns.
  /// - Returns: what `body` does; `nil` behind the last picture.
  func next<Result: ~Copyable>(
    _ body: (VideoPicture) throws(DecodeError) -> Result
  ) throws(DecodeError) -> Result?
}

/// The samples of a track, one after the other.
struct VideoSamples {
  private let input: PictureInput
  private let ranges: [Range<Int>]
  private var index = 0

  init(_ ranges: [Range<Int>], in input: PictureInput) {
    self.input = input
    self.ranges = ranges
  }

  /// - Returns: `nil` behind the last.
  mutating func next() throws(DecodeError) -> PictureInput? {
    guard index < ranges.count else { return nil }
    let range = ranges[index]
    guard let sample = input.part(at: range.lowerBound, byteCount: range.count) else {
      throw .corrupt("sample \(index) is empty or ends behind the file")
    }
    index += 1
    return sample
  }
}

/// A decoded picture of a video, in one plane of luma and up to two of chroma.
@safe struct VideoPicture {
  /// Samples of one kind. Those of more than 8 bits take 2 bytes in the machine's order.
  @safe struct Plane {
    let start: UnsafeRawPointer
    /// Bytes from one row to the next.
    let stride: Int

    init?(_ start: UnsafeRawPointer?, stride: Int) {
      guard let start = unsafe start else { return nil }
      unsafe self.start = start
      self.stride = stride
    }
  }

  let size: ThumbnailGeometry.Size
  let bitsPerSample: Int
  let luma: Plane
  /// `nil` for a gray picture.
  let chroma: (blue: Plane, red: Plane)?
  /// Whether chroma has half as many columns, or rows.
  let halvesColumns: Bool
  let halvesRows: Bool
  let codePoints: ColourCodePoints
}

extension VideoPicture {
  /// The picture: red, green and blue, or gray, and transparency behind them.
  ///
  /// - Parameter alpha: of each pixel; `nil` for an opaque picture.
  func image<Value: UnsignedSample>(
    in value: Value.Type, alpha: [Value]?
  ) throws(DecodeError) -> Image {
    let colourCount = chroma == nil ? 1 : 3
    let bandCount = colourCount + (alpha == nil ? 0 : 1)
    let image = try unsafe Image.filled(
      with: value, width: UInt32(size.width), height: UInt32(size.height),
      bandCount: Int32(bandCount),
      interpretation: chroma == nil ? Value.depth.graySpace : Value.depth.colourSpace
    ) { (start) throws(DecodeError) in
      try unsafe writeColours(to: start, bandCount: bandCount)
      guard let alpha else { return }
      for index in alpha.indices {
        unsafe start[index * bandCount + colourCount] = alpha[index]
      }
    }
    return image
  }

  /// The luma of all pixels.
  func lumaValues<Value: UnsignedSample>() -> [Value] {
    var values = [Value](repeating: 0, count: size.width * size.height)
    unsafe values.withUnsafeMutableBufferPointer { buffer in
      if let start = buffer.baseAddress { unsafe writeLuma(to: start, bandCount: 1) }
    }
    return values
  }

  private func writeColours<Value: UnsignedSample>(
    to start: UnsafeMutablePointer<Value>, bandCount: Int
  ) throws(DecodeError) {
    guard let chroma else { return unsafe writeLuma(to: start, bandCount: bandCount) }
    let matrix = try ColourMatrix(
      codePoints, bitsPerSample: bitsPerSample, upTo: Float(Value.depth.maximum))
    if bitsPerSample > 8 {
      unsafe write(UInt16.self, chroma, matrix, to: start, bandCount: bandCount)
    } else {
      unsafe write(UInt8.self, chroma, matrix, to: start, bandCount: bandCount)
    }
  }

  private func writeLuma<Value: UnsignedSample>(
    to start: UnsafeMutablePointer<Value>, bandCount: Int
  ) {
    let steps = SampleRange(isFull: codePoints.isFullRange, bitsPerSample: bitsPerSample).luma
    let scale = steps.scale * (Float(Value.depth.maximum) / 255)
    var values = [Value](repeating: 0, count: 1 << bitsPerSample)
    for sample in values.indices {
      values[sample] = Value(nearest: (Float(sample) - steps.origin) * scale)
    }
    if bitsPerSample > 8 {
      unsafe writeLuma(UInt16.self, values, to: start, bandCount: bandCount)
    } else {
      unsafe writeLuma(UInt8.self, values, to: start, bandCount: bandCount)
    }
  }

  /// - Parameter values: of each sample.
  private func writeLuma<Sample: FixedWidthInteger, Value: UnsignedSample>(
    _: Sample.Type, _ values: [Value], to start: UnsafeMutablePointer<Value>, bandCount: Int
  ) {
    for y in 0..<size.height {
      let row = unsafe luma.row(y, of: Sample.self)
      let pixels = unsafe start + y * size.width * bandCount
      for x in 0..<size.width {
        // No decoder gives greater samples than those of its bits.
        unsafe pixels[x * bandCount] = values[Int(row[x]) & (values.count - 1)]
      }
    }
  }

  /// Each sample of chroma holds for all pixels that it was made from, as libheif does it.
  @inline(__always)
  private func write<Sample: FixedWidthInteger, Value: UnsignedSample>(
    _: Sample.Type, _ chroma: (blue: Plane, red: Plane), _ matrix: ColourMatrix,
    to start: UnsafeMutablePointer<Value>, bandCount: Int
  ) {
    let (columnShift, rowShift) = (halvesColumns ? 1 : 0, halvesRows ? 1 : 0)
    let (red, green, blue) = (matrix.rows[0], matrix.rows[1], matrix.rows[2])
    for y in 0..<size.height {
      let lumaRow = unsafe luma.row(y, of: Sample.self)
      let blueRow = unsafe chroma.blue.row(y >> rowShift, of: Sample.self)
      let redRow = unsafe chroma.red.row(y >> rowShift, of: Sample.self)
      var pixel = unsafe start + y * size.width * bandCount
      for x in 0..<size.width {
        let sample = unsafe SIMD4(
          Float(lumaRow[x]), Float(blueRow[x >> columnShift]), Float(redRow[x >> columnShift]), 1)
        unsafe pixel[0] = Value(nearest: (red * sample).sum())
        unsafe pixel[1] = Value(nearest: (green * sample).sum())
        unsafe pixel[2] = Value(nearest: (blue * sample).sum())
        unsafe pixel += bandCount
      }
    }
  }
}

extension VideoPicture.Plane {
  fileprivate func row<Sample>(_ y: Int, of _: Sample.Type) -> UnsafePointer<Sample> {
    unsafe (start + y * stride).assumingMemoryBound(to: Sample.self)
  }
}

extension UnsignedSample {
  /// The nearest number that the sample can have.
  @inline(__always)
  fileprivate init(nearest value: Float) {
    self.init(Swift.min(Swift.max(value, 0), Float(Self.max)).rounded())
  }
}

/// From luma and chroma to red, green and blue (ITU-T H.273 section 8.3).
struct ColourMatrix {
  /// For each of red, green and blue: what luma, the blue and the red difference add to it, per step
  /// of a sample, and what is added always. The results go from 0 to a maximum.
  let rows: [SIMD4<Float>]

  /// - Throws: ``DecodeError/unsupported(_:)``.
  init(
    _ codePoints: ColourCodePoints, bitsPerSample: Int, upTo maximum: Float
  ) throws(DecodeError) {
    let weights = try Self.weights(of: codePoints.matrix)
    let range = SampleRange(isFull: codePoints.isFullRange, bitsPerSample: bitsPerSample)
    // Without chroma, the planes are green, blue and red.
    let chroma = codePoints.matrix == Self.identity ? range.luma : range.chroma
    rows = weights.map { weight in
      let scaled = weight * SIMD3(range.luma.scale, chroma.scale, chroma.scale)
      let offset =
        scaled.x * range.luma.origin + (scaled.y + scaled.z) * chroma.origin
      return SIMD4(scaled, -offset) * (maximum / 255)
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
