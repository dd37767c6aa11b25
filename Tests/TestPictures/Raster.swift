import CVips
import Glibc
package import ImgDecode
package import ImgModel

/// Pixels in memory: rows from the top, four bytes (red, green, blue, alpha) a pixel.
package struct Raster: Sendable {
  package let width: Int
  package let height: Int
  package private(set) var bytes: [UInt8]

  /// One pixel.
  package struct Pixel: Hashable, Sendable {
    package var red: UInt8
    package var green: UInt8
    package var blue: UInt8
    package var alpha: UInt8

    package init(_ red: UInt8, _ green: UInt8, _ blue: UInt8, alpha: UInt8 = 255) {
      self.red = red
      self.green = green
      self.blue = blue
      self.alpha = alpha
    }
  }

  package init(width: Int, height: Int, pixelAt: (_ x: Int, _ y: Int) -> Pixel) {
    precondition(width > 0 && height > 0, "a picture has at least one pixel")
    self.width = width
    self.height = height
    bytes = []
    bytes.reserveCapacity(width * height * 4)
    for y in 0..<height {
      for x in 0..<width {
        let pixel = pixelAt(x, y)
        bytes.append(pixel.red)
        bytes.append(pixel.green)
        bytes.append(pixel.blue)
        bytes.append(pixel.alpha)
      }
    }
  }

  package subscript(x: Int, y: Int) -> Pixel {
    let start = (y * width + x) * 4
    return Pixel(bytes[start], bytes[start + 1], bytes[start + 2], alpha: bytes[start + 3])
  }

  /// The pixels as a camera held in another way stores them: a reader that obeys EXIF
  /// `orientation` (1…8, EXIF 2.3 section 4.6.4 A) sees `self`.
  package func stored(forOrientation orientation: Int) -> Raster {
    precondition((1...8).contains(orientation), "EXIF knows the orientations 1 to 8")
    let (right, bottom) = (width - 1, height - 1)
    let isTurned = orientation >= 5
    return Raster(width: isTurned ? height : width, height: isTurned ? width : height) { x, y in
      switch orientation {
      case 1: self[x, y]
      case 2: self[right - x, y]
      case 3: self[right - x, bottom - y]
      case 4: self[x, bottom - y]
      case 5: self[y, x]
      case 6: self[right - y, x]
      case 7: self[right - y, bottom - x]
      default: self[y, bottom - x]
      }
    }
  }
}

/// The owner of a libvips image made of a raster's pixels in the colours of one format.
@safe struct VipsRaster: ~Copyable {
  private let image: UnsafeMutablePointer<VipsImage>

  init(_ raster: Raster, as format: PictureFormat, hasAlpha: Bool) throws(PictureError) {
    let bandCount: Int
    let interpretation: VipsInterpretation
    switch format {
    case .cmykJPEG, .cmykTIFF:
      (bandCount, interpretation) = (hasAlpha ? 5 : 4, VIPS_INTERPRETATION_CMYK)
    case .grayJPEG, .grayPNG, .grayTIFF: (bandCount, interpretation) = (1, VIPS_INTERPRETATION_B_W)
    case .sixteenBitPNG:
      (bandCount, interpretation) = (hasAlpha ? 4 : 3, VIPS_INTERPRETATION_RGB16)
    default: (bandCount, interpretation) = (hasAlpha ? 4 : 3, VIPS_INTERPRETATION_sRGB)
    }
    let samples = Self.samples(of: raster, as: format, bandCount: bandCount)
    let isWide = format == .sixteenBitPNG
    let made = unsafe samples.withUnsafeBytes { bytes in
      unsafe vips_image_new_from_memory_copy(
        bytes.baseAddress, bytes.count, Int32(raster.width), Int32(raster.height),
        Int32(bandCount), isWide ? VIPS_FORMAT_USHORT : VIPS_FORMAT_UCHAR)
    }
    guard let made = unsafe made else { throw PictureError(operation: "raster") }
    unsafe made.pointee.Type = interpretation
    unsafe image = made
  }

  /// With transparency, in linear light: floating-point samples from 0 to 1.
  init(inLinearLight raster: Raster) throws(PictureError) {
    let samples = raster.bytes.enumerated().map { index, byte in
      let value = Float(byte) / 255
      if index % 4 == 3 { return value }
      // IEC 61966-2-1 section 5.2.
      return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
    }
    let made = unsafe samples.withUnsafeBytes { bytes in
      unsafe vips_image_new_from_memory_copy(
        bytes.baseAddress, bytes.count, Int32(raster.width), Int32(raster.height), 4,
        VIPS_FORMAT_FLOAT)
    }
    guard let made = unsafe made else { throw PictureError(operation: "raster") }
    unsafe made.pointee.Type = VIPS_INTERPRETATION_scRGB
    unsafe image = made
  }

  init(owning image: UnsafeMutablePointer<VipsImage>) {
    unsafe self.image = image
  }

  deinit {
    unsafe g_object_unref(image)
  }

  func setOrientation(_ orientation: Int) {
    unsafe vips_image_set_int(image, VIPS_META_ORIENTATION, Int32(orientation))
  }

  func setProfile(_ bytes: [UInt8]) {
    unsafe vips_image_set_blob_copy(image, VIPS_META_ICC_NAME, bytes, bytes.count)
  }

  /// The image in the upper left corner of a black one, whose pixels are made when they are encoded.
  func enlarged(width: Int, height: Int) throws(PictureError) -> VipsRaster {
    var large: UnsafeMutablePointer<VipsImage>?
    guard unsafe img_vips_embed(image, &large, 0, 0, Int32(width), Int32(height)) == 0,
      let large = unsafe large
    else { throw PictureError(operation: "canvas") }
    return unsafe VipsRaster(owning: large)
  }

  /// Declares the image to be `count` frames, one below the other.
  func setFrames(height: Int, count: Int) {
    unsafe vips_image_set_int(image, VIPS_META_PAGE_HEIGHT, Int32(height))
    // In milliseconds.
    let delays = [Int32](repeating: 100, count: count)
    unsafe vips_image_set_array_int(image, "delay", delays, Int32(count))
  }

  func encoded(as format: PictureFormat) throws(PictureError) -> [UInt8] {
    guard let suffix = format.suffix else { throw PictureError(operation: format.rawValue) }
    return try encoded(suffix: suffix)
  }

  /// - Parameter suffix: a file name suffix with options, as libvips' savers read them.
  func encoded(suffix: String) throws(PictureError) -> [UInt8] {
    var buffer: UnsafeMutableRawPointer?
    var byteCount = 0
    guard unsafe img_vips_image_write_to_buffer(image, suffix, &buffer, &byteCount) == 0
    else { throw PictureError(operation: suffix) }
    defer { unsafe g_free(buffer) }
    return unsafe Array(UnsafeRawBufferPointer(start: buffer, count: byteCount))
  }

  /// The samples in memory order, in the machine's byte order where they have two bytes.
  private static func samples(
    of raster: Raster, as format: PictureFormat, bandCount: Int
  ) -> [UInt8] {
    var samples: [UInt8] = []
    for start in stride(from: 0, to: raster.bytes.count, by: 4) {
      let pixel = raster.bytes[start..<start + 4]
      switch format {
      case .cmykJPEG, .cmykTIFF:
        samples += pixel.prefix(3).map { 255 - $0 } + [0]
        if bandCount == 5 { samples += pixel.suffix(1) }
      case .grayJPEG, .grayPNG, .grayTIFF:
        samples.append(UInt8(pixel.prefix(3).reduce(0) { $0 + Int($1) } / 3))
      case .sixteenBitPNG:
        // v × 257 repeats the byte: 0 stays 0 and 255 becomes 65,535.
        samples += pixel.prefix(bandCount).flatMap { [$0, $0] }
      default:
        samples += pixel.prefix(bandCount)
      }
    }
    return samples
  }
}

/// Looks into an encoded picture, to check what was made. Reads the pixels as they are stored: no
/// orientation and no profile is obeyed.
package struct PictureReader: Sendable {
  package init(runtime: VipsRuntime) {}

  package static func start() throws(VipsError) -> PictureReader {
    PictureReader(runtime: try VipsRuntime.start())
  }

  /// The pixels of the first frame in 8-bit colours.
  package func raster(of bytes: [UInt8]) throws(PictureError) -> Raster {
    try unsafe bytes.withVipsImage { (image) throws(PictureError) in
      var converted: UnsafeMutablePointer<VipsImage>?
      guard unsafe img_vips_colourspace(image, &converted, VIPS_INTERPRETATION_sRGB) == 0,
        let converted = unsafe converted
      else { throw PictureError(operation: "colourspace") }
      defer { unsafe g_object_unref(converted) }
      var byteCount = 0
      guard let memory = unsafe vips_image_write_to_memory(converted, &byteCount) else {
        throw PictureError(operation: "pixels")
      }
      defer { unsafe g_free(memory) }
      let samples = unsafe Array(UnsafeRawBufferPointer(start: memory, count: byteCount))
      let width = Int(unsafe vips_image_get_width(converted))
      let bandCount = Int(unsafe vips_image_get_bands(converted))
      return Raster(width: width, height: Int(unsafe vips_image_get_height(converted))) { x, y in
        let start = (y * width + x) * bandCount
        let alpha = bandCount == 4 ? samples[start + 3] : 255
        return Raster.Pixel(samples[start], samples[start + 1], samples[start + 2], alpha: alpha)
      }
    }
  }

  /// Decodes all pixels of the first frame, and does nothing with them.
  package func decode(_ bytes: [UInt8]) throws(PictureError) {
    try unsafe bytes.withVipsImage { (image) throws(PictureError) in
      var byteCount = 0
      guard let memory = unsafe vips_image_write_to_memory(image, &byteCount) else {
        throw PictureError(operation: "pixels")
      }
      unsafe g_free(memory)
    }
  }

  /// Whether the picture has an alpha channel, transparent somewhere or not.
  package func hasAlpha(_ bytes: [UInt8]) throws(PictureError) -> Bool {
    try unsafe bytes.withVipsImage { unsafe vips_image_hasalpha($0) != 0 }
  }

  /// Which of EXIF, XMP, IPTC, a colour profile and an orientation the picture carries, by the
  /// names of libvips.
  package func metadata(of bytes: [UInt8]) throws(PictureError) -> [String] {
    let names = [
      VIPS_META_EXIF_NAME, VIPS_META_XMP_NAME, VIPS_META_IPTC_NAME, VIPS_META_ICC_NAME,
      VIPS_META_ORIENTATION,
    ]
    return try unsafe bytes.withVipsImage { image in
      names.filter { unsafe vips_image_get_typeof(image, $0) != 0 }
    }
  }
}

extension [UInt8] {
  /// Opens the encoded picture for the time of `body`.
  func withVipsImage<Result>(
    _ body: (UnsafeMutablePointer<VipsImage>) throws(PictureError) -> Result
  ) throws(PictureError) -> Result {
    try unsafe span.withUnsafeBufferPointer { (buffer) throws(PictureError) in
      let image = unsafe buffer.baseAddress.flatMap {
        unsafe img_vips_image_new_from_buffer($0, buffer.count)
      }
      guard let image = unsafe image else { throw PictureError(operation: "header") }
      defer { unsafe g_object_unref(image) }
      return try unsafe body(image)
    }
  }
}

/// A thumbnail in one variant, and what was learnt of its picture.
package struct RenderedThumbnail: Hashable, Sendable {
  package let thumbnail: Thumbnail
  package let bytes: [UInt8]
  package let source: SourceFacts
  package let thumbHash: ThumbHash
}

extension Thumbnailer {
  /// Makes a thumbnail in one variant.
  package func thumbnail(
    of picture: [UInt8], as variant: Variant, isLenient: Bool = false
  ) throws(Failure) -> RenderedThumbnail {
    let made = try thumbnails(of: picture.span, as: [variant], isLenient: isLenient)
    return RenderedThumbnail(
      thumbnail: made.thumbnails[0].thumbnail, bytes: made.thumbnails[0].bytes,
      source: made.source, thumbHash: made.thumbHash)
  }
}

/// Pixels of 16 bits a sample in memory: gray, or red, green and blue, with transparency behind them.
package struct WideRaster: Sendable {
  package let width: Int
  package let height: Int
  /// 1 to 4.
  package let bandCount: Int
  /// Rows from the top, without gaps.
  package let samples: [UInt16]

  package init(
    width: Int, height: Int, bandCount: Int,
    sampleAt: (_ x: Int, _ y: Int, _ band: Int) -> UInt16
  ) {
    self.init(
      width: width, height: height, bandCount: bandCount,
      samples: (0..<height * width * bandCount).map { index in
        let pixel = index / bandCount
        return sampleAt(pixel % width, pixel / width, index % bandCount)
      })
  }

  fileprivate init(width: Int, height: Int, bandCount: Int, samples: [UInt16]) {
    (self.width, self.height, self.bandCount) = (width, height, bandCount)
    self.samples = samples
  }

  package subscript(x: Int, y: Int, band: Int) -> UInt16 {
    samples[(y * width + x) * bandCount + band]
  }

  /// A soft gradient, in which each band differs and transparency goes from a third to opaque. Its colours are
  /// weak, so that they are in sRGB whatever profile says what the samples mean.
  package static func gradient(width: Int, height: Int, bandCount: Int) -> WideRaster {
    WideRaster(width: width, height: height, bandCount: bandCount) { x, y, band in
      let (right, down) = (Double(x) / Double(width - 1), Double(y) / Double(height - 1))
      let isAlpha = bandCount % 2 == 0 && band == bandCount - 1
      let level =
        isAlpha
        ? 1 / 3.0 + 2 / 3.0 * down
        : 0.2 + 0.5 * right + 0.15 * down + 0.05 * Double(band) * (1 - down)
      return UInt16(level * 65_535)
    }
  }
}

extension PictureMaker {
  /// Encodes pixels.
  ///
  /// - Parameters:
  ///   - suffix: a file name suffix with options, as libvips' savers read them.
  ///   - profile: says what the samples mean; they stay as they are.
  package func encode(
    _ raster: WideRaster, suffix: String, orientation: Int = 1, profile: [UInt8]? = nil
  ) throws(PictureError) -> [UInt8] {
    let image = try VipsRaster(raster)
    if orientation != 1 { image.setOrientation(orientation) }
    if let profile { image.setProfile(profile) }
    return try image.encoded(suffix: suffix)
  }
}

extension VipsRaster {
  fileprivate init(_ raster: WideRaster) throws(PictureError) {
    let image = unsafe raster.samples.withUnsafeBytes { bytes in
      unsafe vips_image_new_from_memory_copy(
        bytes.baseAddress, bytes.count, Int32(raster.width), Int32(raster.height),
        Int32(raster.bandCount), VIPS_FORMAT_USHORT)
    }
    guard let image = unsafe image else { throw PictureError(operation: "raster") }
    unsafe image.pointee.Type =
      raster.bandCount < 3 ? VIPS_INTERPRETATION_GREY16 : VIPS_INTERPRETATION_RGB16
    unsafe self.init(owning: image)
  }
}

extension PictureReader {
  /// The pixels of the first frame.
  ///
  /// - Returns: `nil` for a picture of 8 bits a sample.
  package func wideRaster(of bytes: [UInt8]) throws(PictureError) -> WideRaster? {
    try unsafe bytes.withVipsImage { (image) throws(PictureError) in
      guard unsafe vips_image_get_format(image) == VIPS_FORMAT_USHORT else { return nil }
      var byteCount = 0
      guard let memory = unsafe vips_image_write_to_memory(image, &byteCount) else {
        throw PictureError(operation: "pixels")
      }
      defer { unsafe g_free(memory) }
      let samples = unsafe UnsafeRawBufferPointer(start: memory, count: byteCount)
        .bindMemory(to: UInt16.self)
      return unsafe WideRaster(
        width: Int(vips_image_get_width(image)), height: Int(vips_image_get_height(image)),
        bandCount: Int(vips_image_get_bands(image)), samples: Array(samples))
    }
  }
}
