import ImgFacts
package import ImgModel

extension Thumbnailer {
  /// What the pixels tell, and the frames of an animated JPEG XL: only its decoder can read their headers.
  ///
  /// - Throws: as ``thumbnails(of:as:isLenient:onHeader:)`` does.
  package func description(
    of picture: Span<UInt8>, onHeader: () -> Void = {}
  ) throws(Failure) -> PictureDescription {
    let pixels = try pixelFacts(of: picture, onHeader: onHeader)
    let delays = unsafe picture.withUnsafeBufferPointer { buffer in
      Self.frameDelays(of: unsafe PictureInput(buffer))
    }
    guard let description = PictureDescription(pixels: pixels, frameDelays: delays) else {
      preconditionFailure("a decoder reads as many frames as may be told")
    }
    return description
  }

  /// - Parameter input: a picture that has been decoded, so that its frames are within the limits.
  private static func frameDelays(of input: PictureInput) -> [Int]? {
    guard let facts = try? PictureFacts.reading(input, .header), facts.format == .jxl,
      facts.isAnimated == true,
      let delays = try? JXLDecoder(input, .headers).frameDelays(), !delays.isEmpty
    else { return nil }
    return delays
  }
}
