/// A decoder of the samples of one track. Used by one thread; it starts none.
protocol VideoDecoder: AnyObject {
  /// Decodes up to the next picture in the order in which they are shown.
  ///
  /// - Parameter body: is called with the picture, whose samples are valid until it returns.
  /// - Returns: what `body` does; `nil` behind the last picture.
  func next<Result: ~Copyable>(
    _ body: (VideoPicture) throws(DecodeError) -> Result
  ) throws(DecodeError) -> Result?
}

/// The samples of a track, one after the other.
struct VideoSamples {
  private let input: PictureInput
  private let ranges: [Range<Int>]
  private var index = 0

  init(_ ranges: [Range<Int>], in input: PictureInput) {
    self.input = input
    self.ranges = ranges
  }

  /// - Returns: `nil` behind the last.
  mutating func next() throws(DecodeError) -> PictureInput? {
    guard index < ranges.count else { return nil }
    let range = ranges[index]
    guard let sample = input.part(at: range.lowerBound, byteCount: range.count) else {
      throw .corrupt("sample \(index) is empty or ends behind the file")
    }
    index += 1
    return sample
  }
}
