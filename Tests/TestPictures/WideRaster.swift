import CVips

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
