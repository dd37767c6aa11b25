import CVips
import ImgFacts

extension VideoPicture {
  /// The picture in 8 bits: red, green and blue, or gray, and transparency behind them.
  ///
  /// - Parameter alpha: of each pixel, from 0 to 255; `nil` for an opaque picture.
  func image(alpha: [UInt8]?) throws(DecodeError) -> Image {
    let colourCount = chroma == nil ? 1 : 3
    let bandCount = colourCount + (alpha == nil ? 0 : 1)
    let image = try unsafe Image.filled(
      width: UInt32(size.width), height: UInt32(size.height), bandCount: Int32(bandCount),
      interpretation: chroma == nil ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB
    ) { (start) throws(DecodeError) in
      try unsafe writeColours(to: start, bandCount: bandCount)
      guard let alpha else { return }
      for index in alpha.indices {
        unsafe start[index * bandCount + colourCount] = alpha[index]
      }
    }
    return image
  }

  /// The luma of all pixels, from 0 to 255.
  func lumaValues() -> [UInt8] {
    var values = [UInt8](repeating: 0, count: size.width * size.height)
    unsafe values.withUnsafeMutableBufferPointer { buffer in
      if let start = buffer.baseAddress { unsafe writeLuma(to: start, bandCount: 1) }
    }
    return values
  }

  private func writeColours(
    to start: UnsafeMutablePointer<UInt8>, bandCount: Int
  ) throws(DecodeError) {
    guard let chroma else { return unsafe writeLuma(to: start, bandCount: bandCount) }
    let matrix = try ColourMatrix(codePoints, bitsPerSample: bitsPerSample)
    if bitsPerSample > 8 {
      unsafe write(UInt16.self, chroma, matrix, to: start, bandCount: bandCount)
    } else {
      unsafe write(UInt8.self, chroma, matrix, to: start, bandCount: bandCount)
    }
  }

  private func writeLuma(to start: UnsafeMutablePointer<UInt8>, bandCount: Int) {
    let steps = SampleRange(isFull: codePoints.isFullRange, bitsPerSample: bitsPerSample).luma
    var values = [UInt8](repeating: 0, count: 1 << bitsPerSample)
    for sample in values.indices {
      values[sample] = byte((Float(sample) - steps.origin) * steps.scale)
    }
    if bitsPerSample > 8 {
      unsafe writeLuma(UInt16.self, values, to: start, bandCount: bandCount)
    } else {
      unsafe writeLuma(UInt8.self, values, to: start, bandCount: bandCount)
    }
  }

  /// - Parameter values: of each sample.
  private func writeLuma<Sample: FixedWidthInteger>(
    _: Sample.Type, _ values: [UInt8], to start: UnsafeMutablePointer<UInt8>, bandCount: Int
  ) {
    for y in 0..<size.height {
      let row = unsafe luma.row(y, of: Sample.self)
      let pixels = unsafe start + y * size.width * bandCount
      for x in 0..<size.width {
        // No decoder gives greater samples than those of its bits.
        unsafe pixels[x * bandCount] = values[Int(row[x]) & (values.count - 1)]
      }
    }
  }

  /// Each sample of chroma holds for all pixels that it was made from, as libheif does it.
  @inline(__always)
  private func write<Sample: FixedWidthInteger>(
    _: Sample.Type, _ chroma: (blue: Plane, red: Plane), _ matrix: ColourMatrix,
    to start: UnsafeMutablePointer<UInt8>, bandCount: Int
  ) {
    let (columnShift, rowShift) = (halvesColumns ? 1 : 0, halvesRows ? 1 : 0)
    let (red, green, blue) = (matrix.rows[0], matrix.rows[1], matrix.rows[2])
    for y in 0..<size.height {
      let lumaRow = unsafe luma.row(y, of: Sample.self)
      let blueRow = unsafe chroma.blue.row(y >> rowShift, of: Sample.self)
      let redRow = unsafe chroma.red.row(y >> rowShift, of: Sample.self)
      var pixel = unsafe start + y * size.width * bandCount
      for x in 0..<size.width {
        let sample = unsafe SIMD4(
          Float(lumaRow[x]), Float(blueRow[x >> columnShift]), Float(redRow[x >> columnShift]), 1)
        unsafe pixel[0] = byte((red * sample).sum())
        unsafe pixel[1] = byte((green * sample).sum())
        unsafe pixel[2] = byte((blue * sample).sum())
        unsafe pixel += bandCount
      }
    }
  }
}

extension VideoPicture.Plane {
  fileprivate func row<Sample>(_ y: Int, of _: Sample.Type) -> UnsafePointer<Sample> {
    unsafe (start + y * stride).assumingMemoryBound(to: Sample.self)
  }
}

/// The nearest whole number from 0 to 255.
private func byte(_ value: Float) -> UInt8 {
  UInt8(min(max(value, 0), 255).rounded())
}
