/// The samples along one side of a picture: rows or columns, of pixels or of a component that has
/// fewer of them.
struct SampledSide: Equatable {
  /// Of the whole picture, in pixels.
  let length: Int
  /// The first pixel that the samples show.
  var start = 0
  let sampleCount: Int
  /// The pixels that a sample stands for; its place is in their middle. The last sample may reach
  /// beyond the picture.
  var pixelsPerSample = 1.0

  /// One sample a pixel.
  static func pixels(_ length: Int) -> SampledSide { .init(length: length, sampleCount: length) }
}
