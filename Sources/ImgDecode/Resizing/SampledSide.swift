/// The samples along one side of a picture: rows or columns, of pixels or of a component that has
/// fewer of them.
struct SampledSide: Equatable {
  /// Of the whole picture, in pixels.
  let length: Int
  /// The pixels that the samples show.
  let shown: Range<Int>
  let sampleCount: Int
  /// The pixels that a sample stands for. The last sample may reach beyond those that are shown.
  let pixelsPerSample: Double

  /// A part of a picture in as many samples as it needs.
  init(length: Int, showing shown: Range<Int>, pixelsPerSample: Int = 1) {
    self.init(
      length: length, showing: shown,
      sampleCount: (shown.count + pixelsPerSample - 1) / pixelsPerSample,
      pixelsPerSample: Double(pixelsPerSample))
  }

  /// A whole picture in that number of samples.
  init(length: Int, sampleCount: Int, pixelsPerSample: Double) {
    self.init(
      length: length, showing: 0..<length, sampleCount: sampleCount,
      pixelsPerSample: pixelsPerSample)
  }

  private init(length: Int, showing shown: Range<Int>, sampleCount: Int, pixelsPerSample: Double) {
    self.length = length
    self.shown = shown
    self.sampleCount = sampleCount
    self.pixelsPerSample = pixelsPerSample
  }

  /// A whole picture, one sample a pixel.
  static func pixels(_ length: Int) -> SampledSide { .init(length: length, showing: 0..<length) }

  /// The place of a sample, in pixels: the middle of those that it stands for and that are shown.
  func place(of index: Int) -> Double {
    let first = Double(shown.lowerBound) + Double(index) * pixelsPerSample
    return (first + min(first + pixelsPerSample, Double(shown.upperBound))) / 2
  }

  /// The sample at a place of a whole picture, as a fraction between two.
  func sample(at place: Double) -> Double {
    let last = sampleCount - 1
    guard last > 0 else { return 0 }
    let placeBefore = self.place(of: last - 1)
    guard place > placeBefore else { return place / pixelsPerSample - 0.5 }
    return Double(last - 1) + (place - placeBefore) / (self.place(of: last) - placeBefore)
  }
}
