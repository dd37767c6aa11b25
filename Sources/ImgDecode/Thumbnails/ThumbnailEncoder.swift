import ImgModel

/// From the pixels of a thumbnail to its bytes.
struct ThumbnailEncoder {
  let variant: Variant
  let isDamaged: Bool
  var effort = EncodingEffort.usual

  /// - Parameters:
  ///   - image: in memory, 8 bits a sample.
  ///   - picture: its metadata is copied if the variant keeps it.
  /// - Throws: ``DecodeError/unencodable(_:)`` or ``DecodeError/outOfMemory``.
  func encode(
    _ image: consuming Image, from picture: any OpenPicture
  ) throws(DecodeError) -> EncodedThumbnail {
    do throws(VipsError) {
      let isTransparent = image.hasAlpha && !image.isOpaque
      let encoding = ThumbnailEncoding(variant.format, isTransparent: isTransparent)
      let (width, height) = (image.width, image.height)
      let shown: Image
      if !isTransparent {
        shown = try image.withoutAlpha()
      } else if encoding.holdsTransparency {
        shown = image
      } else {
        shown = try image.flattened()
      }
      let bytes = try encode(shown, encoding, from: picture)
      let thumbnail = Thumbnail(
        format: encoding.format, width: width, height: height, byteCount: bytes.count,
        isDamaged: isDamaged)
      return EncodedThumbnail(thumbnail: thumbnail, bytes: bytes)
    } catch {
      throw error.isOutOfMemory ? .outOfMemory : .unencodable(error.description)
    }
  }

  private func encode(
    _ image: consuming Image, _ encoding: ThumbnailEncoding, from picture: any OpenPicture
  ) throws(VipsError) -> [UInt8] {
    guard variant.keptData != .none else {
      return try encoding.encode(image, quality: variant.quality, effort)
    }
    let labelled = try image.withOwnMetadata()
    if !variant.keptData.profile { labelled.removeProfile() }
    labelled.removeMetadata()
    if variant.keptData.metadata, let file = try picture.metadataImage() {
      labelled.copyMetadata(of: file)
    }
    if variant.keptData.copyright, let notice = picture.copyrightNotice() {
      labelled.setCopyright(notice)
    }
    return try encoding.encodeWithMetadata(labelled, quality: variant.quality, effort)
  }
}
