import CVips

extension Image {
  /// In samples of 8 or 16 bits, none of them negative: whole numbers by their full range, floating-point ones by
  /// a range from black to white.
  ///
  /// - Returns: `nil` for samples that are no numbers of light or ink, such as complex ones.
  func inUnsignedSamples(
    floatRange: ClosedRange<Double>
  ) throws(VipsError) -> Image? {
    guard !hasUnsignedSamples else { return retained() }
    guard ![VIPS_INTERPRETATION_LAB, VIPS_INTERPRETATION_LABS].contains(interpretation) else {
      return nil
    }
    let range: ClosedRange<Double>
    switch unsafe vips_image_get_format(pointer) {
    case VIPS_FORMAT_CHAR: range = Self.range(of: Int8.self)
    case VIPS_FORMAT_SHORT: range = Self.range(of: Int16.self)
    case VIPS_FORMAT_INT: range = Self.range(of: Int32.self)
    case VIPS_FORMAT_UINT: range = Self.range(of: UInt32.self)
    case VIPS_FORMAT_FLOAT, VIPS_FORMAT_DOUBLE: range = floatRange
    default: return nil
    }
    return try unsafe Self.result(of: "samples") {
      unsafe img_vips_in_words(pointer, &$0, range.lowerBound, range.upperBound)
    }
  }

  private static func range<Sample: FixedWidthInteger>(
    of sample: Sample.Type
  ) -> ClosedRange<Double> {
    Double(Sample.min)...Double(Sample.max)
  }

  /// With an opaque alpha channel, if there is none.
  consuming func withAlpha() throws(VipsError) -> Image {
    guard !hasAlpha else { return self }
    return try unsafe Self.result(of: "alpha") { unsafe img_vips_addalpha(pointer, &$0) }
  }

  /// With an alpha channel of one band, for an image that has none.
  func joined(withAlpha alpha: borrowing Image) throws(VipsError) -> Image {
    try unsafe Self.result(of: "alpha") { unsafe img_vips_bandjoin(pointer, alpha.pointer, &$0) }
  }

  /// Lends the samples of an image of bytes in memory. There are no gaps between its rows.
  borrowing func withSamples(_ body: (Span<UInt8>) -> Void) {
    precondition(unsafe img_vips_has_bytes_in_memory(pointer) != 0, "the samples are not there")
    let samples = unsafe UnsafeBufferPointer(
      start: img_vips_pixels(pointer), count: width * height * Int(bandCount))
    body(unsafe Span(_unsafeElements: samples))
  }
}
