/// The planes of a JPEG, decoded once, from which thumbnails of several sizes are resampled.
struct PlanarSource {
  private let jpeg: JPEGPicture
  private let size: ThumbnailGeometry.Size
  private let frame: PlanarFrame
  /// In the size of the largest thumbnail, for those that are too small to be resampled at once.
  private var reduced: PlanarFrame?

  /// - Parameter size: of the largest thumbnail, as stored.
  init(_ jpeg: JPEGPicture, decodedFor size: ThumbnailGeometry.Size) throws(DecodeError) {
    self.jpeg = jpeg
    self.size = size
    frame = try jpeg.planarFrame(for: size)
  }

  /// Whether a thumbnail can be resampled from planes that were decoded for `largest`. The sizes are as
  /// stored.
  static func canGive(
    _ size: ThumbnailGeometry.Size, of jpeg: JPEGPicture, decodedFor largest: ThumbnailGeometry.Size
  ) -> Bool {
    guard jpeg.canResamplePlanes(to: largest, decodedFor: largest) else { return false }
    let factors = [
      Double(largest.width) / Double(size.width), Double(largest.height) / Double(size.height),
    ]
    return factors.allSatisfy { $0 <= Resampling.factors.upperBound / 2 }
  }

  /// The planes for a thumbnail of that size, as stored.
  mutating func frame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> PlanarFrame {
    if jpeg.canResamplePlanes(to: size, decodedFor: self.size) { return frame }
    let reduced = if let reduced { reduced } else { try frame.resampled(to: self.size) }
    self.reduced = reduced
    return reduced
  }
}
