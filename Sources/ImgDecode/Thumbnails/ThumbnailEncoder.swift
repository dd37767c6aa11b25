import CVips
package import ImgModel

/// A frame as a thumbnail shows it, and before it was cropped.
struct RenderedFrame: ~Copyable {
  let image: Image
  let scaled: Image
}

/// Makes the pixels of a thumbnail from those of a frame.
struct FrameRenderer {
  let geometry: ThumbnailGeometry
  let variant: Variant
  /// Of the stored pixels: 1…8 as in EXIF.
  let orientation: Int
  /// The size of the picture as seen.
  private let shape: ThumbnailGeometry.Size

  init(of header: PictureHeader, to geometry: ThumbnailGeometry, as variant: Variant) {
    self.geometry = geometry
    self.variant = variant
    orientation = header.orientation
    shape = header.upright
  }

  /// - Parameter frame: as it is stored; not yet decoded, perhaps.
  func rendered(
    _ frame: consuming Image, of picture: any OpenPicture
  ) throws(DecodeError) -> RenderedFrame {
    do throws(VipsError) {
      let scaled = try scaled(frame, to: picture.header.oriented(geometry.scaled))
      return RenderedFrame(image: try finished(scaled), scaled: scaled)
    } catch {
      throw picture.reason(for: error)
    }
  }

  /// Of the whole frame.
  func thumbHash(
    of frame: borrowing RenderedFrame, of picture: any OpenPicture
  ) throws(DecodeError) -> ThumbHash {
    do throws(VipsError) {
      return try thumbHash(of: frame.scaled)
    } catch {
      throw picture.reason(for: error)
    }
  }

  /// The whole frame in its size and in the colours of the thumbnail, as it is stored; in memory.
  ///
  /// - Parameters:
  ///   - frame: as it is stored; not yet decoded, perhaps.
  ///   - size: what it is scaled to, as stored.
  func scaled(
    _ frame: consuming Image, to size: ThumbnailGeometry.Size
  ) throws(VipsError) -> Image {
    try frame.preparedForScaling(variant.depth).scaled(to: size)
      .inThumbnailColours(keepingProfile: variant.keptData.profile, variant.depth).inMemory()
  }

  /// What ``scaled(_:to:)`` gives as the thumbnail shows it: upright, cropped and with its effects.
  func finished(_ scaled: borrowing Image) throws(VipsError) -> Image {
    let whole = try scaled.retained().upright(from: orientation)
    return try cropped(whole).with(variant.effects).inMemory()
  }

  /// Of what ``scaled(_:to:)`` gives.
  func thumbHash(of scaled: borrowing Image) throws(VipsError) -> ThumbHash {
    let coloured =
      variant.keptData.profile
      ? try scaled.retained().inSRGB(scaled.depth) : scaled.retained()
    let frame = try coloured.inUpperBytes().inMemory()
    return ThumbHash(of: SmallPicture(frame, showing: shape, orientation: orientation))
  }

  /// Cut only now: a decoder that is asked for the middle alone overlooks that the end is missing.
  private func cropped(_ whole: consuming Image) throws(VipsError) -> Image {
    guard geometry.kept != geometry.scaled else { return whole }
    if let origin = geometry.keptOrigin {
      return try whole.cropped(
        left: origin.left, top: origin.top, width: geometry.kept.width,
        height: geometry.kept.height)
    }
    let interest =
      variant.crop == .entropy ? VIPS_INTERESTING_ENTROPY : VIPS_INTERESTING_ATTENTION
    let image = try whole.inMemory()
    return image.hasWideSamples
      ? try image.croppedInFullDepth(to: geometry.kept, by: interest)
      : try image.cropped(to: geometry.kept, by: interest)
  }
}

/// From the pixels of a thumbnail to its bytes.
struct ThumbnailEncoder {
  let variant: Variant
  let isDamaged: Bool
  var effort = EncodingEffort.usual

  /// - Parameters:
  ///   - image: in memory, 8 or 16 bits a sample.
  ///   - picture: its metadata is copied if the variant keeps it.
  /// - Throws: ``DecodeError/unencodable(_:)`` or ``DecodeError/outOfMemory``.
  func encode(
    _ image: consuming Image, from picture: any OpenPicture
  ) throws(DecodeError) -> EncodedThumbnail {
    do throws(VipsError) {
      let isTransparent = image.hasAlpha && !image.isOpaque
      let encoding = ThumbnailEncoding(
        variant.format, isTransparent: isTransparent, image.depth)
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

/// How thumbnails are written in one format: JPEG, PNG, WebP, AVIF or GIF.
struct ThumbnailEncoding {
  let format: ImageFormat
  /// Of the pixels.
  private let depth: ImageVariant.Depth

  /// - Parameters:
  ///   - isTransparent: whether the picture needs a format that knows transparency.
  ///   - depth: of the pixels. More than 8 bits are for a format that holds them.
  init(_ format: ImageVariant.Format, isTransparent: Bool, _ depth: ImageVariant.Depth) {
    self.depth = depth
    self.format =
      switch format {
      case .auto where depth != .eight, .compatible where depth != .eight: .png
      case .auto: isTransparent ? .webp : .jpeg
      case .compatible: isTransparent ? .png : .jpeg
      case .jpeg: .jpeg
      case .png: .png
      case .webp: .webp
      case .avif: .avif
      case .gif: .gif
      }
  }

  var holdsTransparency: Bool { format != .jpeg }

  /// Without metadata: the pixels are upright and in sRGB, and a thumbnail does not tell where a
  /// photograph was taken.
  func encode(
    _ image: borrowing Image, quality: Int, _ effort: EncodingEffort
  ) throws(VipsError) -> [UInt8] {
    if format == .jpeg { return try image.encodedAsJPEG(quality: quality) }
    let file = try image.encoded(suffix: suffix(quality: quality, effort, "strip"))
    // libvips 8.14 does not strip WebP.
    return format == .webp ? WebPContainer.strippingMetadata(file) : file
  }

  /// With the profile and the metadata that the image carries, as far as the format holds them.
  func encodeWithMetadata(
    _ image: borrowing Image, quality: Int, _ effort: EncodingEffort
  ) throws(VipsError) -> [UInt8] {
    let file = try image.encoded(suffix: suffix(quality: quality, effort))
    return format == .png ? PNGContainer.withoutRepeatedEXIF(file) : file
  }

  /// The encoders' options, chosen on thumbnails of 256 pixels of forty photographs:
  ///
  /// - JPEG: neither optimised nor progressive; together they save 5 % of the bytes in 2.5 times
  ///   the time.
  /// - PNG: with all row filters, level 3 of zlib is smaller by a fifth and faster than level 6
  ///   without them.
  /// - WebP: effort 2 takes half the time of 4, the default, for 3 % more bytes.
  /// - AVIF: effort 2 takes a quarter of the time of 4, the default, and no more bytes. Of more than 8 bits,
  ///   libheif 1.15 can only have 12 encoded: libaom ends the process that asks for 10 in the profile for 12.
  private func suffix(quality: Int, _ effort: EncodingEffort, _ others: String...) -> String {
    let isUsual = effort == .usual
    let options =
      switch format {
      case .png: isUsual ? ["compression=3", "filter=all"] : ["compression=1"]
      case .gif: [isUsual ? "effort=4" : "effort=1"]
      case .webp, .avif: ["Q=\(quality)", isUsual ? "effort=2" : "effort=0"] + bitCount
      default: ["Q=\(quality)"]
      }
    return ".\(format.rawValue)[\((options + others).joined(separator: ","))]"
  }

  private var bitCount: [String] { depth == .eight ? [] : ["bitdepth=12"] }
}

/// A thumbnail and its bytes.
package struct EncodedThumbnail: Hashable, Sendable {
  package let thumbnail: Thumbnail
  package let bytes: [UInt8]
}

/// What a decode gives: the encoded thumbnails and what was learnt of their source.
package struct RenderedThumbnails: Hashable, Sendable {
  /// In the order of the variants.
  package let thumbnails: [EncodedThumbnail]
  package let source: SourceFacts
  /// Of the whole picture that the thumbnails show, or of the first frame of an animation.
  package let thumbHash: ThumbHash
}

/// How much time goes into making a thumbnail smaller.
enum EncodingEffort {
  /// As much as is worth it for what is stored.
  case usual
  /// As little as possible, for what is shown for a moment.
  case least
}
