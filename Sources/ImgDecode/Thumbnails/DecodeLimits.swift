import ImgModel
import ImgSniff

/// Refuses by the first bytes and the header, before memory is taken for a single pixel.
struct DecodeLimits {
  private let limits: Limits

  init(_ limits: Limits) {
    self.limits = limits
  }

  var maxPixels: Int64 { limits.maxPixels }

  /// - Throws: `not_an_image` or `unsupported_format`.
  func format(of input: PictureInput) throws(Failure) -> ImageFormat {
    let head = input.bytes(at: 0, upTo: FormatSniffer.examinedByteCount)
    return try FormatSniffer.format(of: head, allowing: limits.allowedFormats)
  }

  /// Opens a picture, and checks its header for all its thumbnails.
  ///
  /// - Parameter onHeader: called when the header is within the limits.
  func opened(
    as variants: [Variant], _ onHeader: () -> Void,
    _ open: () throws(DecodeError) -> any OpenPicture
  ) throws(Failure) -> any OpenPicture {
    VipsError.forgetEarlier()
    let picture = try failing(open)
    for variant in variants {
      try check(picture.header, becoming: ThumbnailGeometry(of: picture.header, as: variant))
    }
    onHeader()
    return picture
  }

  /// Turns an error into a failure, which may tell of the limits.
  func failing<Result>(_ body: () throws(DecodeError) -> Result) throws(Failure) -> Result {
    do throws(DecodeError) {
      return try body()
    } catch {
      throw error.failure(within: limits)
    }
  }

  /// - Throws: `too_many_pixels` or `too_many_frames`.
  func check(_ header: PictureHeader, becoming geometry: ThumbnailGeometry) throws(Failure) {
    // Only the pixels of the first frame count, as no other is decoded.
    let decoded = header.uncropped ?? header.stored
    try check(decoded.pixelCount, "\(decoded.width) × \(decoded.height) pixels")
    guard header.frames <= limits.maxFrames else {
      throw Failure(
        stage: .decode, code: .tooManyFrames,
        detail: "\(header.frames) frames; the limit is \(limits.maxFrames)")
    }
    try check(
      header.embeddedPixelCount, "\(header.embeddedPixelCount) pixels in the pictures inside it")
    if let refused = geometry.refused {
      throw Failure(
        stage: .decode, code: .tooManyPixels,
        detail: "the thumbnail would have \(refused.width) × \(refused.height) pixels, more than "
          + "the request permits; ask for a smaller one, or give both sides")
    }
    // A picture that is enlarged.
    let scaled = geometry.scaled
    try check(scaled.pixelCount, "a thumbnail of \(scaled.width) × \(scaled.height) pixels")
  }

  /// - Throws: `too_many_pixels` if a thumbnail of all frames has too many.
  func check(frameCount: Int, of geometry: ThumbnailGeometry) throws(Failure) {
    let size = geometry.kept
    // Both factors are within limits, so that the product is, too.
    try check(
      size.pixelCount * Int64(frameCount),
      "a thumbnail of \(frameCount) frames of \(size.width) × \(size.height) pixels")
  }

  /// - Throws: `too_large` if the pixels take more bytes than a thumbnail may have.
  func check(pixelsOf geometry: ThumbnailGeometry) throws(Failure) {
    let size = geometry.kept
    let byteCount = size.pixelCount * 4
    guard byteCount <= limits.maxThumbnailByteCount else {
      throw Failure(
        stage: .decode, code: .tooLarge,
        detail: "\(size.width) × \(size.height) pixels take \(byteCount) bytes; "
          + "\(limits.maxThumbnailByteCount) are the most")
    }
  }

  private func check(_ pixelCount: Int64, _ what: String) throws(Failure) {
    guard pixelCount <= limits.maxPixels else {
      throw Failure(
        stage: .decode, code: .tooManyPixels, detail: "\(what); the limit is \(limits.maxPixels)")
    }
  }
}
