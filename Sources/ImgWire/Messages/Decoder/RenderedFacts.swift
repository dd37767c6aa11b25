package import ImgModel

/// The thumbnails in the output memory's thumbnail area, one behind the other from its start, and their
/// source.
package struct RenderedFacts: Hashable, Sendable {
  /// As many as the request has variants, in their order.
  package let thumbnails: [Thumbnail]
  package let source: SourceFacts
  package let thumbHash: ThumbHash

  package init(thumbnails: [Thumbnail], source: SourceFacts, thumbHash: ThumbHash) {
    self.thumbnails = thumbnails
    self.source = source
    self.thumbHash = thumbHash
  }
}

extension RenderedFacts {
  private static let headCount = SourceFacts.numberCount + ThumbHash.numberCount

  /// Of a ``NumberRecord``: the source and its hash, then the thumbnails.
  var numbers: [UInt64] { source.numbers + thumbHash.numbers + thumbnails.flatMap(\.numbers) }

  /// The receiver checks the sizes.
  ///
  /// - Returns: `nil` if these are not the numbers of thumbnails, or no hash has that form.
  init?(numbers: [UInt64]) {
    let (count, rest) = (numbers.count - Self.headCount).quotientAndRemainder(
      dividingBy: Thumbnail.numberCount)
    guard (1...Variant.maximumCount).contains(count), rest == 0,
      let source = SourceFacts(numbers: Array(numbers.prefix(SourceFacts.numberCount))),
      let thumbHash = ThumbHash(numbers: numbers[SourceFacts.numberCount..<Self.headCount])
    else { return nil }
    let thumbnails = (0..<count).compactMap { index in
      let start = Self.headCount + index * Thumbnail.numberCount
      return Thumbnail(numbers: Array(numbers[start..<start + Thumbnail.numberCount]))
    }
    guard thumbnails.count == count else { return nil }
    self.init(thumbnails: thumbnails, source: source, thumbHash: thumbHash)
  }
}

extension ThumbHash {
  private static let byteCountOfNumber = UInt64.bitWidth / UInt8.bitWidth
  /// Numbers that hold the longest hash.
  private static let wordCount = (maximumByteCount + byteCountOfNumber - 1) / byteCountOfNumber
  fileprivate static let numberCount = 1 + wordCount

  /// How many bytes there are, then the bytes, little-endian, with zeros behind them.
  fileprivate var numbers: [UInt64] {
    let words = (0..<Self.wordCount).map { index in
      bytes.dropFirst(index * Self.byteCountOfNumber).prefix(Self.byteCountOfNumber).reversed()
        .reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
    return [UInt64(bytes.count)] + words
  }

  fileprivate init?(numbers: ArraySlice<UInt64>) {
    let bytes = numbers.dropFirst().flatMap { number in
      (0..<Self.byteCountOfNumber).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
    guard let first = numbers.first, let count = Int(exactly: first),
      count <= Self.maximumByteCount, bytes.dropFirst(count).allSatisfy({ $0 == 0 })
    else { return nil }
    self.init(bytes: Array(bytes.prefix(count)))
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
