import CVips

extension Image {
  /// A picture in memory, made smaller; several times as fast as libvips does it.
  ///
  /// - Returns: `nil` for images that libvips must scale: those that are not in memory, are
  ///   transparent or have other samples than bytes, and those that grow or shrink very much.
  func reduced(to size: ThumbnailGeometry.Size) throws(VipsError) -> Image? {
    guard !hasAlpha, (1...4).contains(bandCount),
      unsafe img_vips_has_bytes_in_memory(pointer) != 0,
      let rows = Reduction(from: height, to: size.height),
      let columns = Reduction(from: width, to: size.width)
    else { return nil }
    guard
      let result = unsafe img_vips_new_like(pointer, Int32(size.width), Int32(size.height))
    else { throw VipsError(operation: "resize") }
    let image = unsafe Image(owning: result)
    fill(image, rows: rows, columns: columns)
    return image
  }

  private func fill(_ image: borrowing Image, rows: Reduction, columns: Reduction) {
    let rowByteCount = width * Int(bandCount)
    var row = [UInt8](repeating: 0, count: rowByteCount)
    unsafe rows.withPointers { rows in
      unsafe columns.withPointers { columns in
        unsafe img_reduce(
          img_vips_pixels(pointer), rowByteCount, bandCount, rows, Int32(image.height), columns,
          Int32(image.width), &row, img_vips_pixels(image.pointer))
      }
    }
  }
}

extension Reduction {
  fileprivate func withPointers(_ body: (img_reduction) -> Void) {
    unsafe starts.withUnsafeBufferPointer { starts in
      unsafe weights.withUnsafeBufferPointer { weights in
        guard let first = starts.baseAddress, let weight = weights.baseAddress else { return }
        unsafe body(
          img_reduction(starts: first, weights: weight, tap_count: Int32(tapCount)))
      }
    }
  }
}
