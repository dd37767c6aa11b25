import CVips
import Glibc

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

  private init(owning image: UnsafeMutablePointer<VipsImage>) {
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
