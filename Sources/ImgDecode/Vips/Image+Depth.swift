import CVips
import ImgModel

/// A sample of a picture: a whole number whose full range goes from black to white.
protocol UnsignedSample: FixedWidthInteger, UnsignedInteger, BitwiseCopyable {
  static var depth: ImageVariant.Depth { get }
}

extension UInt8: UnsignedSample {
  static var depth: ImageVariant.Depth { .eight }
}

extension UInt16: UnsignedSample {
  static var depth: ImageVariant.Depth { .sixteen }
}

/// What libvips calls images of such samples.
extension ImageVariant.Depth {
  var sampleFormat: VipsBandFormat { self == .eight ? VIPS_FORMAT_UCHAR : VIPS_FORMAT_USHORT }
  /// Of red, green and blue in sRGB.
  var colourSpace: VipsInterpretation {
    self == .eight ? VIPS_INTERPRETATION_sRGB : VIPS_INTERPRETATION_RGB16
  }
  var graySpace: VipsInterpretation {
    self == .eight ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_GREY16
  }
  /// White, and opaque.
  var maximum: Double { self == .eight ? 255 : 65_535 }
  var byteCount: Int { rawValue / 8 }
}

/// Samples of more than 8 bits.
extension Image {
  /// Of whole samples.
  var depth: ImageVariant.Depth { hasWideSamples ? .sixteen : .eight }

  /// Whether there are more than 8 bits of gray, light or ink to keep: in 16 bits, or in floating point.
  var hasMoreThanEightBits: Bool {
    switch interpretation {
    case VIPS_INTERPRETATION_RGB16, VIPS_INTERPRETATION_GREY16, VIPS_INTERPRETATION_CMYK:
      hasWideSamples
    case VIPS_INTERPRETATION_scRGB: !hasByteSamples
    default: false
    }
  }

  // MARK: - Levels

  /// The name by which libvips tells how many bits the samples of a HEIF had.
  private static let bitCountName = "heif-bitdepth"

  /// How many levels the samples have, and which of them is the greatest: libvips puts 10 bits of HEIF into
  /// the upper ones of 16.
  var levels: (count: Int, maximum: Int) {
    guard hasWideSamples else { return (256, 255) }
    let unused = 16 - min(max(integer(named: Self.bitCountName) ?? 16, 8), 16)
    return (65_536, (65_535 >> unused) << unused)
  }

  /// Says that the samples have their full range. The metadata must be the image's own.
  func forgetBitCount() {
    unsafe vips_image_remove(pointer, Self.bitCountName)
  }

  /// With levels up to the greatest that the samples can have. Extended levels stay as they are.
  consuming func inFullRange() throws(VipsError) -> Image {
    let (count, maximum) = levels
    guard maximum < count - 1, brightLight == nil else { return self }
    let table = (0..<count).map { level in
      UInt16((min(level, maximum) * 65_535 + maximum / 2) / maximum)
    }
    let image = try mapped(by: table, to: .sixteen, interpretation).withOwnMetadata()
    image.forgetBitCount()
    return image
  }

  /// With the level that a table has for each.
  func mapped(
    by table: [UInt16], to depth: ImageVariant.Depth, _ interpretation: VipsInterpretation
  ) throws(VipsError) -> Image {
    let count = Int32(table.count)
    return try unsafe Self.result(of: "levels") {
      unsafe depth == .eight
        ? img_vips_map_to_bytes(pointer, &$0, table.map { UInt8($0) }, count, interpretation)
        : img_vips_map_to_shorts(pointer, &$0, table, count, interpretation)
    }
  }

  // MARK: - In memory

  /// The first sample of an image in memory. There are no gaps between the rows.
  func pixels<Sample: UnsignedSample>() -> UnsafeMutablePointer<Sample> {
    precondition(sampleFormat == Sample.depth.sampleFormat, "the samples have another size")
    return unsafe UnsafeMutableRawPointer(img_vips_pixels(pointer))
      .assumingMemoryBound(to: Sample.self)
  }

  /// See ``isOpaque``.
  var hasOpaqueWords: Bool {
    let words: UnsafeMutablePointer<UInt16> = unsafe pixels()
    let bandCount = Int(bandCount)
    return stride(from: bandCount - 1, to: width * height * bandCount, by: bandCount)
      .allSatisfy { unsafe words[$0] == .max }
  }

  /// The part of that size that shows the most, as it is found in 8 bits. The pixels must be in memory.
  func croppedInFullDepth(
    to size: ThumbnailGeometry.Size, by interest: VipsInteresting
  ) throws(VipsError) -> Image {
    let part = try retained().inUpperBytes().inMemory().cropped(to: size, by: interest)
    // Where a part begins is how far its image is moved against the whole one.
    let left = unsafe -Int(vips_image_get_xoffset(part.pointer))
    let top = unsafe -Int(vips_image_get_yoffset(part.pointer))
    return try cropped(left: left, top: top, width: size.width, height: size.height)
  }
}
