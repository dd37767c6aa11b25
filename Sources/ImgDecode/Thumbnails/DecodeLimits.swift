import ImgModel

/// Refuses by the header, before memory is taken for a single pixel.
struct DecodeLimits {
  private let limits: Limits

  init(_ limits: Limits) {
    self.limits = limits
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

  private func check(_ pixelCount: Int64, _ what: String) throws(Failure) {
    guard pixelCount <= limits.maxPixels else {
      throw Failure(
        stage: .decode, code: .tooManyPixels, detail: "\(what); the limit is \(limits.maxPixels)")
    }
  }
}
