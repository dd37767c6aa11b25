import ImgModel

/// The way of one open picture to its thumbnail.
struct FrameDecoder {
  /// A thumbnail, and how the picture became it.
  struct Made {
    let thumbnail: Thumbnail
    let bytes: [UInt8]
    var path: DecodePath
  }

  let picture: any OpenPicture
  let variant: Variant
  /// Whether only the readable part of a damaged picture is decoded.
  let isDamaged: Bool
  let geometry: ThumbnailGeometry

  init(picture: any OpenPicture, variant: Variant, isDamaged: Bool) {
    self.picture = picture
    self.variant = variant
    self.isDamaged = isDamaged
    geometry = ThumbnailGeometry(source: picture.header.upright, variant: variant)
  }

  private init(_ other: FrameDecoder, of embedded: any OpenPicture, to geometry: ThumbnailGeometry)
  {
    picture = embedded
    variant = other.variant
    isDamaged = other.isDamaged
    self.geometry = geometry
  }

  /// From the smaller picture in the file if the variant wants that, or from the picture itself.
  func thumbnail() throws(DecodeError) -> Made {
    // An embedded picture that cannot be decoded does not matter.
    if let smaller = ofEmbeddedPicture(), var made = try? smaller.ownThumbnail() {
      made.path = .embedded
      return made
    }
    return try ownThumbnail()
  }

  private func ofEmbeddedPicture() -> FrameDecoder? {
    guard variant.embeddedUse != .never,
      variant.embeddedUse == .always || picture.trustsEmbeddedPicture,
      let embedded = picture.embeddedPicture()
    else { return nil }
    let size = embedded.header.upright
    if size.width >= geometry.scaled.width, size.height >= geometry.scaled.height {
      return FrameDecoder(self, of: embedded, to: geometry)
    }
    guard variant.embeddedUse == .always else { return nil }
    return FrameDecoder(
      self, of: embedded, to: ThumbnailGeometry(source: size, variant: variant))
  }

  private func ownThumbnail() throws(DecodeError) -> Made {
    switch DecodePlan(for: picture, to: geometry, as: variant) {
    case .planar(let jpeg, let origin): try planarThumbnail(of: jpeg, at: origin)
    case .general(let picture): try generalThumbnail(of: picture)
    }
  }

  private func planarThumbnail(
    of jpeg: JPEGPicture, at origin: ThumbnailGeometry.Point
  ) throws(DecodeError) -> Made {
    let frame = try jpeg.planarFrame(for: jpeg.header.oriented(geometry.scaled))
    let bytes = try frame.thumbnail(
      to: geometry, at: origin, from: Orientation(jpeg.header.orientation),
      quality: variant.quality)
    let thumbnail = Thumbnail(
      format: .jpeg, width: geometry.kept.width, height: geometry.kept.height,
      byteCount: bytes.count)
    return Made(thumbnail: thumbnail, bytes: bytes, path: .planar)
  }

  private func generalThumbnail(of picture: any OpenPicture) throws(DecodeError) -> Made {
    let size = picture.header.oriented(geometry.scaled)
    let frame = try picture.firstFrame(for: size)
    let renderer = FrameRenderer(of: picture.header, to: geometry, as: variant)
    let image: Image
    do throws(VipsError) {
      image = try renderer.rendered(frame, scaledTo: size)
    } catch {
      throw picture.reason(for: error)
    }
    let encoder = ThumbnailEncoder(variant: variant, isDamaged: isDamaged)
    let (thumbnail, bytes) = try encoder.encode(image, from: picture)
    return Made(thumbnail: thumbnail, bytes: bytes, path: .general)
  }
}
