package import ImgModel

/// The thumbnails in the output memory's thumbnail area, one behind the other from its start, and their
/// source.
package struct RenderedFacts: Hashable, Sendable {
  /// As many as the request has variants, in their order.
  package let thumbnails: [Thumbnail]
  package let source: SourceFacts

  package init(thumbnails: [Thumbnail], source: SourceFacts) {
    self.thumbnails = thumbnails
    self.source = source
  }
}

extension RenderedFacts {
  /// Of a ``NumberRecord``: the source, then the thumbnails.
  var numbers: [UInt64] { source.numbers + thumbnails.flatMap(\.numbers) }

  /// The receiver checks the sizes.
  ///
  /// - Returns: `nil` if these are not the numbers of thumbnails.
  init?(numbers: [UInt64]) {
    let (count, rest) = (numbers.count - SourceFacts.numberCount).quotientAndRemainder(
      dividingBy: Thumbnail.numberCount)
    guard (1...Variant.maximumCount).contains(count), rest == 0,
      let source = SourceFacts(numbers: Array(numbers.prefix(SourceFacts.numberCount)))
    else { return nil }
    let thumbnails = (0..<count).compactMap { index in
      let start = SourceFacts.numberCount + index * Thumbnail.numberCount
      return Thumbnail(numbers: Array(numbers[start..<start + Thumbnail.numberCount]))
    }
    guard thumbnails.count == count else { return nil }
    self.init(thumbnails: thumbnails, source: source)
  }
}

extension SourceFacts {
  fileprivate static let numberCount = 5

  fileprivate var numbers: [UInt64] {
    [format.recordNumber, decodePath.recordNumber]
      + [width, height, frames].map { UInt64(truncatingIfNeeded: $0) }
  }

  fileprivate init?(numbers: [UInt64]) {
    guard let format = ImageFormat(recordNumber: numbers[0]),
      let decodePath = DecodePath(recordNumber: numbers[1])
    else { return nil }
    self.init(
      format: format, width: Int(truncatingIfNeeded: numbers[2]),
      height: Int(truncatingIfNeeded: numbers[3]), frames: Int(truncatingIfNeeded: numbers[4]),
      decodePath: decodePath)
  }
}

extension Thumbnail {
  fileprivate static let numberCount = 5

  fileprivate var numbers: [UInt64] {
    [format.recordNumber, isDamaged.recordNumber]
      + [width, height, byteCount].map { UInt64(truncatingIfNeeded: $0) }
  }

  fileprivate init?(numbers: [UInt64]) {
    guard let format = ImageFormat(recordNumber: numbers[0]),
      let isDamaged = Bool(recordNumber: numbers[1])
    else { return nil }
    self.init(
      format: format, width: Int(truncatingIfNeeded: numbers[2]),
      height: Int(truncatingIfNeeded: numbers[3]),
      byteCount: Int(truncatingIfNeeded: numbers[4]), isDamaged: isDamaged)
  }
}
