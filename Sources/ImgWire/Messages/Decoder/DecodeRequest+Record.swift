import ImgModel

extension DecodeRequest {
  /// Numbers in front of those of the variant.
  private static let ownNumberCount = 3

  /// Of a ``NumberRecord``: the picture's number and size, whether it is lenient, and the variant.
  var numbers: [UInt64] {
    [picture, UInt64(truncatingIfNeeded: byteCount), isLenient.recordNumber] + variant.numbers
  }

  /// The receiver checks the size of the picture.
  ///
  /// - Returns: `nil` if these are not the numbers of a request.
  init?(numbers: [UInt64]) {
    guard numbers.count == Self.ownNumberCount + Variant.numberCount,
      let isLenient = Bool(recordNumber: numbers[2]),
      let variant = Variant(numbers: numbers[Self.ownNumberCount...])
    else { return nil }
    self.init(
      picture: numbers[0], variant: variant, isLenient: isLenient,
      byteCount: Int(truncatingIfNeeded: numbers[1]))
  }
}
