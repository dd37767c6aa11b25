import ImgModel

extension DecodeRequest {
  /// Of a ``NumberRecord``: the picture's number and size, the variant, and whether it is lenient.
  var numbers: [UInt64] {
    [
      picture, UInt64(truncatingIfNeeded: byteCount), UInt64(variant.width), UInt64(variant.height),
      variant.mode.recordNumber, variant.isCropped ? 1 : 0, variant.format.recordNumber,
      UInt64(variant.quality), isLenient ? 1 : 0,
    ]
  }

  /// The receiver checks the size of the picture.
  ///
  /// - Returns: `nil` if these are not the numbers of a request.
  init?(numbers: [UInt64]) {
    guard numbers.count == 9, numbers[5] <= 1, numbers[8] <= 1,
      let mode = Variant.Mode(recordNumber: numbers[4]),
      let format = Variant.Format(recordNumber: numbers[6]),
      let variant = try? Variant(
        width: Int(truncatingIfNeeded: numbers[2]), height: Int(truncatingIfNeeded: numbers[3]),
        mode: mode, isCropped: numbers[5] == 1, format: format,
        quality: Int(truncatingIfNeeded: numbers[7]))
    else { return nil }
    self.init(
      picture: numbers[0], variant: variant, isLenient: numbers[8] == 1,
      byteCount: Int(truncatingIfNeeded: numbers[1]))
  }
}
