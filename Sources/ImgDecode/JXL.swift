import CJXL
import CVips
import ImgFacts
import ImgModel

extension JXLDecoder {
  /// When the frames are shown. A file that ends before the last one shows itself.
  func timeline() throws(DecodeError) -> Timeline {
    guard let animation else { return Timeline(delays: [0], loopCount: 1) }
    return Timeline(delays: try frameDelays(animation), loopCount: Int(animation.num_loops))
  }

  /// In milliseconds, as the file says them; `nil` for a still.
  func frameDelays() throws(DecodeError) -> [Int]? {
    guard let animation else { return nil }
    return try frameDelays(animation)
  }

  /// Reads the headers of all frames. No pixel is decoded.
  private func frameDelays(_ animation: JxlAnimationHeader) throws(DecodeError) -> [Int] {
    // A frame takes a byte or more, so that a hostile file may hold millions.
    let maximumCount = PictureDescription.maximumFrameCount
    var delays: [Double] = []
    while let frame = try nextFrame() {
      guard delays.count < maximumCount else {
        throw .unsupported("JPEG XL of more than \(maximumCount) frames")
      }
      delays.append(Self.milliseconds(ofTicks: frame.duration, animation))
    }
    return FrameDelay.rounded(delays, toMultiplesOf: 1)
  }

  /// The file says how many ticks a second has, as a fraction. The longest delay is about 25 days, so
  /// that the sum of all delays fits an `Int`.
  private static func milliseconds(
    ofTicks ticks: UInt32, _ animation: JxlAnimationHeader
  ) -> Double {
    let thousandths = Double(ticks) * 1_000 * Double(animation.tps_denominator)
    let longest = Double(PictureDescription.delayRange.upperBound)
    return min(thousandths / Double(max(1, animation.tps_numerator)), longest)
  }
}

/// libjxl's decoder over one file. Used by one thread; it starts none.
///
/// It turns pictures upright, and blends each frame with those before it (ISO/IEC 18181-1 annex F).
@safe final class JXLDecoder {
  /// What to read of a file.
  enum Extent {
    case headers, pixels
  }

  /// Of the samples that come out; those of a picture with 8 bits or fewer have 8.
  private let depth: ImageVariant.Depth
  private let decoder: OpaquePointer
  private var info = JxlBasicInfo()
  /// Of the pixels that come out.
  private var profile: [UInt8]?
  /// In place of a profile.
  private let colours: DescribedColours?

  var size: ThumbnailGeometry.Size {
    .init(width: Int(info.xsize), height: Int(info.ysize))
  }
  /// `nil` for a still.
  var animation: JxlAnimationHeader? { info.have_animation != 0 ? info.animation : nil }

  var hasMoreThanEightBits: Bool { info.bits_per_sample > 8 }
  private var hasAlpha: Bool { info.alpha_bits > 0 }
  private var isGray: Bool { info.num_color_channels == 1 }

  /// Reads the header.
  ///
  /// - Parameter input: its bytes outlive the decoder.
  init(
    _ input: PictureInput, _ extent: Extent, _ depth: ImageVariant.Depth = .eight
  ) throws(DecodeError) {
    self.depth = depth
    guard let decoder = unsafe JxlDecoderCreate(nil) else { throw .outOfMemory }
    unsafe self.decoder = decoder
    colours = extent == .pixels ? DescribedColours(input, as: .jxl) : nil
    var events = [JXL_DEC_BASIC_INFO, JXL_DEC_FRAME]
    if extent == .pixels { events += [JXL_DEC_COLOR_ENCODING, JXL_DEC_FULL_IMAGE] }
    let wanted = events.reduce(0) { $0 | Int32($1.rawValue) }
    try unsafe require(JxlDecoderSubscribeEvents(decoder, wanted))
    try unsafe require(JxlDecoderSetUnpremultiplyAlpha(decoder, JXL_TRUE))
    // The end of the input stays open, so that a cut file is told from a damaged one.
    try unsafe require(
      JxlDecoderSetInput(decoder, input.buffer.baseAddress, input.byteCount))
    try advance(to: JXL_DEC_BASIC_INFO)
    try unsafe require(JxlDecoderGetBasicInfo(decoder, &info))
    if extent == .pixels {
      try advance(to: JXL_DEC_COLOR_ENCODING)
      chooseColours()
    }
  }

  deinit {
    unsafe JxlDecoderDestroy(decoder)
  }

  // MARK: - Frames

  /// Leaves out the next frames.
  func skip(_ count: Int) {
    unsafe JxlDecoderSkipFrames(decoder, count)
  }

  /// Goes on to the next frame that is shown. The pixels of the last one must have been decoded, if
  /// they are read.
  ///
  /// - Returns: `nil` behind the last.
  func nextFrame() throws(DecodeError) -> JxlFrameHeader? {
    guard let event = try nextEvent() else { return nil }
    guard event == JXL_DEC_FRAME else { throw .corrupt("its frames are out of order") }
    var header = JxlFrameHeader()
    try unsafe require(JxlDecoderGetFrameHeader(decoder, &header))
    return header
  }

  /// Decodes the pixels of the frame that ``nextFrame()`` came to.
  func pixels() throws(DecodeError) -> Image {
    let image =
      depth != .eight && hasMoreThanEightBits
      ? try pixels(in: UInt16.self) : try pixels(in: UInt8.self)
    if let colours { image.setColours(colours) } else if let profile { image.setProfile(profile) }
    return image
  }

  private func pixels<Sample: UnsignedSample>(
    in sample: Sample.Type
  ) throws(DecodeError) -> Image {
    let bandCount = info.num_color_channels + (hasAlpha ? 1 : 0)
    return try unsafe Image.filled(
      with: sample, width: info.xsize, height: info.ysize, bandCount: Int32(bandCount),
      interpretation: isGray ? Sample.depth.graySpace : Sample.depth.colourSpace
    ) { (start) throws(DecodeError) in
      try unsafe decode(to: start, bandCount: bandCount)
    }
  }

  private func decode<Sample: UnsignedSample>(
    to start: UnsafeMutablePointer<Sample>, bandCount: UInt32
  ) throws(DecodeError) {
    var format = JxlPixelFormat(
      num_channels: bandCount,
      data_type: Sample.depth == .eight ? JXL_TYPE_UINT8 : JXL_TYPE_UINT16,
      endianness: JXL_NATIVE_ENDIAN, align: 0)
    // Within the limits, as the picture was checked against them before its pixels are decoded.
    let byteCount = size.width * size.height * Int(bandCount) * Sample.depth.byteCount
    try unsafe require(JxlDecoderSetImageOutBuffer(decoder, &format, start, byteCount))
    try advance(to: JXL_DEC_FULL_IMAGE)
  }

  // MARK: - Colours

  /// Colours that were stored in a space of JPEG XL's own come out as sRGB. All others stay what they
  /// are, with a profile. Light brighter than white stays what it was.
  private func chooseColours() {
    guard colours == nil else {
      var original = JxlColorEncoding()
      guard
        unsafe JxlDecoderGetColorAsEncodedProfile(
          decoder, nil, JXL_COLOR_PROFILE_TARGET_ORIGINAL, &original) == JXL_DEC_SUCCESS
      else { return }
      _ = unsafe JxlDecoderSetPreferredColorProfile(decoder, &original)
      return
    }
    if info.uses_original_profile == 0 {
      var standard = JxlColorEncoding()
      unsafe JxlColorEncodingSetToSRGB(&standard, isGray ? JXL_TRUE : JXL_FALSE)
      // It is a wish only: the profile tells what the decoder does.
      _ = unsafe JxlDecoderSetPreferredColorProfile(decoder, &standard)
    }
    var byteCount = 0
    guard
      unsafe JxlDecoderGetICCProfileSize(
        decoder, nil, JXL_COLOR_PROFILE_TARGET_DATA, &byteCount) == JXL_DEC_SUCCESS
    else { return }
    var bytes = [UInt8](repeating: 0, count: byteCount)
    guard
      unsafe JxlDecoderGetColorAsICCProfile(
        decoder, nil, JXL_COLOR_PROFILE_TARGET_DATA, &bytes, byteCount) == JXL_DEC_SUCCESS
    else { return }
    profile = bytes
  }

  // MARK: - Events

  private func advance(to wanted: JxlDecoderStatus) throws(DecodeError) {
    guard try nextEvent() == wanted else { throw .corrupt("a part of it is missing") }
  }

  /// - Returns: `nil` at the end of the file.
  private func nextEvent() throws(DecodeError) -> JxlDecoderStatus? {
    let status = unsafe JxlDecoderProcessInput(decoder)
    guard status != JXL_DEC_NEED_MORE_INPUT else {
      throw .corrupt("the file ends before its last frame does")
    }
    guard status != JXL_DEC_ERROR else { throw .corrupt("libjxl finds it damaged") }
    return status == JXL_DEC_SUCCESS ? nil : status
  }

  /// libjxl does not tell a lack of memory from damage.
  private func require(_ status: JxlDecoderStatus) throws(DecodeError) {
    guard status == JXL_DEC_SUCCESS else { throw .corrupt("libjxl refuses it") }
  }
}

/// The frames of an animated JPEG XL.
final class JXLFrames: FrameSequence {
  private let decoder: JXLDecoder

  /// - Parameters:
  ///   - input: a picture whose size is within the limits.
  ///   - first: the frame that comes first.
  ///   - depth: as of ``JXLDecoder``.
  init(
    _ input: PictureInput, startingAt first: Int = 0, _ depth: ImageVariant.Depth = .eight
  ) throws(DecodeError) {
    decoder = try JXLDecoder(input, .pixels, depth)
    decoder.skip(first)
  }

  func next() throws(DecodeError) -> Image? {
    guard try decoder.nextFrame() != nil else { return nil }
    return try decoder.pixels()
  }
}

/// An animated JPEG XL. libvips shows the last frame of one as the picture.
final class JXLPicture: OpenPicture {
  let header: PictureHeader
  private let input: PictureInput
  private let depth: ImageVariant.Depth

  /// Reads the headers of the picture and of all frames.
  ///
  /// - Parameters:
  ///   - depth: as of ``JXLDecoder``.
  ///   - maxPixels: the frames of a larger picture are not counted: libjxl takes memory in
  ///     proportion to the pixels as it reads their headers.
  /// - Returns: `nil` for a still.
  init?(
    _ input: PictureInput, _ depth: ImageVariant.Depth, maxPixels: Int64
  ) throws(DecodeError) {
    let decoder = try JXLDecoder(input, .headers)
    guard decoder.animation != nil else { return nil }
    let isCounted = decoder.size.pixelCount <= maxPixels
    header = PictureHeader(
      stored: decoder.size, orientation: 1,
      frames: isCounted ? try decoder.timeline().delays.count : 1,
      hasMoreThanEightBits: depth != .eight && decoder.hasMoreThanEightBits)
    self.input = input
    self.depth = depth
  }

  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    guard let frame = try JXLFrames(input, depth).next() else { throw .corrupt("it has no frame") }
    return frame
  }

  func metadataImage() throws(VipsError) -> Image? { try Image.loading(input, as: .jxl) }
}
