/// A rectangle of a canvas, in pixels.
struct FrameArea: Equatable {
  let left: Int
  let top: Int
  let width: Int
  let height: Int

  var rows: Range<Int> { top..<top + height }

  /// Whether all of it, and at least one pixel, lies on a canvas.
  func isInside(_ canvas: ThumbnailGeometry.Size) -> Bool {
    width > 0 && height > 0 && left >= 0 && top >= 0
      && left <= canvas.width - width && top <= canvas.height - height
  }

  /// What of it lies on a canvas; `nil` for nothing. No side or edge is negative.
  func part(on canvas: ThumbnailGeometry.Size) -> FrameArea? {
    let part = FrameArea(
      left: left, top: top, width: min(width, canvas.width - left),
      height: min(height, canvas.height - top))
    return part.width > 0 && part.height > 0 ? part : nil
  }
}
