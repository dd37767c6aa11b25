import ImgModel

/// The way of one open picture to the pixels of its thumbnail: the usual one, but for the encoding.
struct PixelRenderer {
  let picture: any OpenPicture
  let geometry: ThumbnailGeometry
  private let renderer: FrameRenderer

  init(_ picture: any OpenPicture, as variant: Variant) {
    self.picture = picture
    geometry = ThumbnailGeometry(of: picture.header, as: variant)
    renderer = FrameRenderer(of: picture.header, to: geometry, as: variant)
  }

  /// - Parameter format: of the picture.
  /// - Throws: also when the pixels show damage.
  func pixels(
    of format: ImageFormat
  ) throws(DecodeError) -> (pixels: EncodedThumbnail, thumbHash: ThumbHash) {
    let size = picture.header.oriented(geometry.scaled)
    let frame = try picture.firstFrame(for: size)
    do throws(VipsError) {
      let scaled = try renderer.scaled(frame, to: size)
      let thumbHash = try renderer.thumbHash(of: scaled)
      let image = try renderer.finished(scaled).inEightBitSRGB().withAlpha().inMemory()
      precondition(image.hasByteSamples && image.bandCount == 4, "a thumbnail is in 8-bit sRGB")
      var samples: [UInt8] = []
      image.withSamples { unsafe samples = $0.withUnsafeBufferPointer { unsafe Array($0) } }
      let thumbnail = Thumbnail(
        format: format, width: image.width, height: image.height, byteCount: samples.count)
      return (EncodedThumbnail(thumbnail: thumbnail, bytes: samples), thumbHash)
    } catch {
      throw picture.reason(for: error)
    }
  }
}
