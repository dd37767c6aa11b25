import ImgModel

extension DecodeRequest {
  /// Numbers in front of those of the variants.
  private static let ownNumberCount = 4

  /// Of a ``NumberRecord``: the picture's number and size, whether it is lenient, what becomes
  /// of it, and the variants.
  var numbers: [UInt64] {
    [
      picture, UInt64(truncatingIfNeeded: byteCount), isLenient.recordNumber,
      output.recordNumber,
    ] + variants.flatMap(\.numbers)
  }

  /// The receiver checks the size of the picture.
  ///
  /// - Returns: `nil` if these are not the numbers of a request.
  init?(numbers: [UInt64]) {
    let (count, rest) = (numbers.count - Self.ownNumberCount).quotientAndRemainder(
      dividingBy: Variant.numberCount)
    guard (1...Variant.maximumCount).contains(count), rest == 0,
      let isLenient = Bool(recordNumber: numbers[2]),
      let output = Output(recordNumber: numbers[3])
    else { return nil }
    let variants = (0..<count).compactMap { index in
      Variant(
        numbers: numbers[(Self.ownNumberCount + index * Variant.numberCount)...]
          .prefix(Variant.numberCount))
    }
    guard variants.count == count else { return nil }
    self.init(
      picture: numbers[0], variants: variants, isLenient: isLenient, output: output,
      byteCount: Int(truncatingIfNeeded: numbers[1]))
  }
}
