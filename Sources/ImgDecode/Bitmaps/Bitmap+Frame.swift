import CVips

extension Bitmap {
  /// The pixels in 8-bit sRGB, or in the colours of the profile that the image then carries.
  func frame(_ extent: DecodeExtent) throws(DecodeError) -> Image {
    guard max(size.width, size.height) <= Int(VIPS_MAX_COORD) else {
      throw .unsupported("BMP of more than \(VIPS_MAX_COORD) pixels a side")
    }
    let profile = try profile(extent)
    let frame = try pixelsInSRGB(extent)
    if let profile { frame.setProfile(profile) }
    return frame
  }

  private func pixelsInSRGB(_ extent: DecodeExtent) throws(DecodeError) -> Image {
    switch header.coding {
    case .indexes:
      try rows(of: .indexes(bitCount: header.bitCount, colours), hasAlpha: false, extent)
    case .blueGreenRed:
      try rows(of: .blueGreenRed, hasAlpha: false, extent)
    case .masks(let masks):
      try rows(
        of: .masks(masks, byteCount: header.bitCount / 8), hasAlpha: masks.hasAlpha, extent)
    case .runs:
      try runs(extent)
    }
  }

  private func profile(_ extent: DecodeExtent) throws(DecodeError) -> [UInt8]? {
    guard let range = header.profile else { return nil }
    let profile = input.bytes(at: start + range.lowerBound, upTo: range.count)
    if profile.count == range.count { return profile }
    guard extent == .readablePart else { throw .corrupt("its colour profile is cut") }
    return nil
  }

  /// Makes an image of samples that `decode` reads from the file.
  private func image(
    on canvas: BitmapCanvas,
    _ decode: (Span<UInt8>, inout MutableSpan<UInt8>) throws(DecodeError) -> Void
  ) throws(DecodeError) -> Image {
    try unsafe Image.filled(
      width: UInt32(canvas.width), height: UInt32(canvas.height),
      bandCount: Int32(canvas.bandCount), interpretation: VIPS_INTERPRETATION_sRGB
    ) { (start) throws(DecodeError) in
      let file = unsafe Span(_unsafeElements: input.buffer)
      var samples = unsafe MutableSpan(_unsafeStart: start, count: canvas.byteCount)
      try decode(file, &samples)
    }
  }

  private func canvas(hasAlpha: Bool) -> BitmapCanvas {
    BitmapCanvas(
      width: size.width, height: size.height, bandCount: hasAlpha ? 4 : 3,
      isTopDown: header.isTopDown)
  }

  // MARK: - Runs

  /// Pixels that the runs leave out are transparent.
  private func runs(_ extent: DecodeExtent) throws(DecodeError) -> Image {
    let canvas = canvas(hasAlpha: true)
    return try image(on: canvas) { (file, samples) throws(DecodeError) in
      samples.update(repeating: 0)
      var runs = BitmapRuns(at: pixelOffset, bitCount: header.bitCount, colours, on: canvas)
      guard !runs.decode(file, to: &samples) else { return }
      switch extent {
      case .whole: throw .corrupt("its runs end before its last pixel")
      case .readablePart:
        guard runs.hasContent else { throw .corrupt(Image.noRowText) }
      }
    }
  }

  // MARK: - Rows

  private func rows(
    of pixels: BitmapPixels, hasAlpha: Bool, _ extent: DecodeExtent
  ) throws(DecodeError) -> Image {
    let canvas = canvas(hasAlpha: hasAlpha || hasMask)
    let rows = BitmapRows(
      at: pixelOffset, width: size.width, bitCount: header.bitCount, height: size.height,
      inFileOf: input.byteCount)
    try check(rows.presentCount, "rows", extent)
    guard rows.presentCount > 0 else { throw .corrupt(Image.noRowText) }
    return try image(on: canvas) { (file, samples) throws(DecodeError) in
      if rows.presentCount < size.height { samples.update(repeating: 0) }
      for row in 0..<rows.presentCount {
        pixels.decode(
          file.extracting(rows[row]), to: &samples, at: canvas.offset(ofRow: row), on: canvas)
      }
      if hasAlpha {
        guard canvas.isTransparent(samples) else { return }
        // Programs that know of no opacity write 0.
        canvas.makeOpaque(0..<rows.presentCount, of: &samples)
      }
      if hasMask { try applyMask(behind: rows, file, to: &samples, on: canvas, extent) }
    }
  }

  /// Makes transparent what the mask does not show.
  private func applyMask(
    behind rows: BitmapRows, _ file: Span<UInt8>, to samples: inout MutableSpan<UInt8>,
    on canvas: BitmapCanvas, _ extent: DecodeExtent
  ) throws(DecodeError) {
    let mask = BitmapRows(
      at: rows.end, width: size.width, bitCount: 1, height: size.height,
      inFileOf: input.byteCount)
    try check(mask.presentCount, "rows of the mask", extent)
    for row in 0..<mask.presentCount {
      canvas.hide(file.extracting(mask[row]), ofRow: row, in: &samples)
    }
  }

  private func check(
    _ presentCount: Int, _ rows: String, _ extent: DecodeExtent
  ) throws(DecodeError) {
    guard extent == .readablePart || presentCount == size.height else {
      throw .corrupt("\(presentCount) of \(size.height) \(rows) are there")
    }
  }
}
