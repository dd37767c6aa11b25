/// A frame of an animated PNG: what its fcTL chunk says (PNG Specification, third edition, section
/// 11.3.6.2), and which chunks hold its pixels.
struct APNGFrame {
  /// What becomes of the frame's area before the next frame is drawn.
  enum Disposal: UInt8 {
    case none, background, previous
  }

  static let controlByteCount = 26

  let area: FrameArea
  let disposal: Disposal
  let blending: FrameCanvas.Blending
  /// Whether its pixels are those that a reader shows that knows of no animation.
  let isDefaultImage: Bool
  /// Where the data of its IDAT or fdAT chunks lies in the file.
  var data: [Range<Int>] = []

  /// - Parameters:
  ///   - control: the data of the chunk behind the sequence number, 22 bytes.
  ///   - canvas: the size of the picture.
  init(
    control: [UInt8], on canvas: ThumbnailGeometry.Size, isDefaultImage: Bool
  ) throws(DecodeError) {
    let fields = BigEndianBytes(control)
    area = FrameArea(
      left: fields.unsigned(at: 8), top: fields.unsigned(at: 12), width: fields.unsigned(at: 0),
      height: fields.unsigned(at: 4))
    let isWhole = area == FrameArea(left: 0, top: 0, width: canvas.width, height: canvas.height)
    guard area.isInside(canvas), isWhole || !isDefaultImage else {
      throw .corrupt("a frame lies outside of the canvas")
    }
    guard let disposal = Disposal(rawValue: control[20]), control[21] <= 1 else {
      throw .corrupt("a frame is drawn in a way that does not exist")
    }
    self.disposal = disposal
    blending = control[21] == 0 ? .source : .over
    self.isDefaultImage = isDefaultImage
  }
}
