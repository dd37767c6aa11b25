import ImgFacts

/// A decoded picture of a video, in one plane of luma and up to two of chroma.
@safe struct VideoPicture {
  /// Samples of one kind. Those of more than 8 bits take 2 bytes in the machine's order.
  @safe struct Plane {
    let start: UnsafeRawPointer
    /// Bytes from one row to the next.
    let stride: Int

    init?(_ start: UnsafeRawPointer?, stride: Int) {
      guard let start = unsafe start else { return nil }
      unsafe self.start = start
      self.stride = stride
    }
  }

  let size: ThumbnailGeometry.Size
  let bitsPerSample: Int
  let luma: Plane
  /// `nil` for a gray picture.
  let chroma: (blue: Plane, red: Plane)?
  /// Whether chroma has half as many columns, or rows.
  let halvesColumns: Bool
  let halvesRows: Bool
  let codePoints: ColourCodePoints
}
