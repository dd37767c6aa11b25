package import ImgModel

/// The thumbnail at the start of the output memory's thumbnail area, and its source.
package struct RenderedFacts: Hashable, Sendable {
  package let thumbnail: Thumbnail
  package let source: SourceFacts

  package init(thumbnail: Thumbnail, source: SourceFacts) {
    self.thumbnail = thumbnail
    self.source = source
  }
}

extension RenderedFacts {
  /// Of a ``NumberRecord``: the thumbnail, then the source.
  var numbers: [UInt64] {
    let numbers = [
      thumbnail.width, thumbnail.height, thumbnail.byteCount, source.width, source.height,
      source.frames,
    ]
    return [thumbnail.format.recordNumber, source.format.recordNumber]
      + numbers.map { UInt64(truncatingIfNeeded: $0) } + [
        thumbnail.isDamaged.recordNumber, source.decodePath.recordNumber,
      ]
  }

  /// The receiver checks the sizes.
  ///
  /// - Returns: `nil` if these are not the numbers of a thumbnail.
  init?(numbers: [UInt64]) {
    guard numbers.count == 10, let isDamaged = Bool(recordNumber: numbers[8]),
      let decodePath = DecodePath(recordNumber: numbers[9]),
      let format = ImageFormat(recordNumber: numbers[0]),
      let sourceFormat = ImageFormat(recordNumber: numbers[1])
    else { return nil }
    let values = numbers.map { Int(truncatingIfNeeded: $0) }
    self.init(
      thumbnail: Thumbnail(
        format: format, width: values[2], height: values[3], byteCount: values[4],
        isDamaged: isDamaged),
      source: SourceFacts(
        format: sourceFormat, width: values[5], height: values[6], frames: values[7],
        decodePath: decodePath))
  }
}
