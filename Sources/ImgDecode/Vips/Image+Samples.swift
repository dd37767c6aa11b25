import CVips

extension Image {
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
