import ImgFacts
import ImgModel

/// A picture whose header was read and whose pixels wait to be asked for. Used by one thread.
protocol OpenPicture {
  var header: PictureHeader { get }

  /// The first frame as it is stored, not turned upright, in the colours of the file.
  ///
  /// - Parameter size: what it will be scaled to. A decoder that can makes it as much smaller as
  ///   that allows; only a drawing becomes larger.
  /// - Throws: also when the pixels show damage, which some decoders find only as they are read.
  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image

  /// A smaller picture of the same that the file holds beside its own, opened; `nil` if there is none
  /// that shows the whole picture.
  func embeddedPicture() -> (any OpenPicture)?
  /// Whether that is known to look like the picture, because the format wants it so. Programs that
  /// change a JPEG often leave the thumbnail in its EXIF data as it was.
  var trustsEmbeddedPicture: Bool { get }

  /// An image with the profile and the metadata of the file, whatever its pixels; `nil` for formats
  /// that have none.
  func metadataImage() throws(VipsError) -> Image?
  /// What the file says of its author and of rights; `nil` for formats that say nothing.
  func copyrightNotice() -> CopyrightNotice?

  /// What an error means that came up while the pixels of the first frame were asked for.
  func reason(for error: VipsError) -> DecodeError
}

extension OpenPicture {
  func embeddedPicture() -> (any OpenPicture)? { nil }
  var trustsEmbeddedPicture: Bool { false }
  func metadataImage() throws(VipsError) -> Image? { nil }
  func copyrightNotice() -> CopyrightNotice? { nil }
}

/// What a header says, before a pixel was decoded.
struct PictureHeader {
  /// Pixels of the first frame as stored.
  let stored: ThumbnailGeometry.Size
  /// How the stored pixels are turned and mirrored: 1…8 as in EXIF.
  let orientation: Int
  /// Frames or pages in the file.
  let frames: Int
  /// The size that is decoded, if ``stored`` is a part of it.
  var uncropped: ThumbnailGeometry.Size?
  /// Pixels of all pictures inside an SVG.
  var embeddedPixelCount: Int64 = 0
  /// Whether it is a drawing (SVG), which has as much detail in every size.
  var isDrawing = false

  /// The size as seen.
  var upright: ThumbnailGeometry.Size { oriented(stored) }

  /// An upright size as the picture stores it, and the other way round.
  func oriented(_ size: ThumbnailGeometry.Size) -> ThumbnailGeometry.Size {
    // The orientations 5 to 8 put the stored rows upright.
    orientation > 4 ? .init(width: size.height, height: size.width) : size
  }
}

extension ThumbnailGeometry {
  /// How large a picture with that header becomes.
  init(of header: PictureHeader, as variant: Variant) {
    self.init(source: header.upright, isDrawing: header.isDrawing, variant: variant)
  }
}
