/// The planes of a JPEG, decoded once, from which thumbnails of several sizes are resampled.
struct PlanarSource {
  /// A whole picture before it is cropped and encoded.
  struct Target {
    /// As the JPEG stores it.
    let size: ThumbnailGeometry.Size
    let encoding: JPEGEncoding
  }

  /// The steps to the shape of a thumbnail.
  private enum Way {
    case atOnce
    /// By way of a frame in the size of the largest thumbnail.
    case reduced(PlanarShape)

    /// - Returns: `nil` where the planes would grow or shrink too much, so that pixels are resized.
    init?(from shape: PlanarShape, to target: Target, reducedTo largest: ThumbnailGeometry.Size) {
      let wanted = shape.scaled(
        to: target.size, pixelsPerChromaSample: target.encoding.pixelsPerChromaSample)
      let reduced = shape.scaled(to: largest)
      if shape.canBecome(wanted) {
        self = .atOnce
      } else if shape.canBecome(reduced), reduced.canBecome(wanted) {
        self = .reduced(reduced)
      } else {
        return nil
      }
    }
  }

  /// As it was decoded.
  let frame: PlanarFrame
  private let size: ThumbnailGeometry.Size
  /// In the size of the largest thumbnail, for those that are too small to be resampled at once.
  private var reduced: PlanarFrame?

  /// - Parameter size: of the largest thumbnail, as stored.
  init(_ jpeg: JPEGPicture, decodedFor size: ThumbnailGeometry.Size) throws(DecodeError) {
    self.size = size
    frame = try jpeg.planarFrame(for: size)
  }

  /// Whether all thumbnails can be resampled from planes that are decoded for `largest`, as stored.
  static func canGive(
    _ targets: [Target], of jpeg: JPEGPicture, decodedFor largest: ThumbnailGeometry.Size
  ) throws(DecodeError) -> Bool {
    let shape = try jpeg.planarShape(for: largest)
    return targets.allSatisfy { Way(from: shape, to: $0, reducedTo: largest) != nil }
  }

  /// The planes for a thumbnail that ``canGive(_:of:decodedFor:)`` was asked about.
  mutating func frame(for target: Target) throws(DecodeError) -> PlanarFrame {
    switch Way(from: frame.shape, to: target, reducedTo: size) {
    case .atOnce: return frame
    case .reduced(let shape):
      let reduced = if let reduced { reduced } else { try frame.resampled(to: shape) }
      self.reduced = reduced
      return reduced
    case nil: preconditionFailure("such a picture does not stay in planes, see DecodePlan")
    }
  }
}
