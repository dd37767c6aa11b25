import ImgDecode
import ImgModel
import TestPictures

extension ThumbnailFixture {
  /// The pixels that a picture of at most 1,000 × 1,000 is decoded to.
  func raster(of picture: [UInt8], isLenient: Bool = false) throws -> Raster {
    let variant = try Variant(width: 1_000, height: 1_000, format: .png)
    let rendered = try thumbnailer.thumbnail(of: picture, as: variant, isLenient: isLenient)
    return try reader.raster(of: rendered.bytes)
  }
}
