import CVips
import ImgFacts

/// Which pixels of its canvas a GIF has drawn. The others are transparent (GIF89a section 23), and
/// libvips leaves them black in a file whose frames have no transparent colour.
struct GIFCoverage {
  private enum Disposal {
    static let background = 2
    static let previous = 3
  }

  private static let drawn: UInt8 = 255

  private let size: ThumbnailGeometry.Size
  /// `nil` when no frame is found.
  private var blocks: GIFBlocks?
  /// For each pixel, row after row: ``drawn``, or 0.
  private var mask: [UInt8]
  /// What becomes of the last frame's area.
  private var leftover: (area: FrameArea, mask: [UInt8])?

  /// - Parameter size: of the canvas, within the limits.
  init(of source: any ByteSource, on size: ThumbnailGeometry.Size) {
    self.size = size
    blocks = try? GIFBlocks(ByteWindow(source))
    mask = [UInt8](repeating: 0, count: size.width * size.height)
  }

  /// Draws the next frame.
  mutating func advance() {
    if let leftover { replace(leftover.area, with: leftover.mask) }
    leftover = nil
    var disposal = 0
    while let block = try? blocks?.next() {
      switch block {
      case .control(let control): disposal = control.disposal
      case .extension: break
      case .frame(let frame): return draw(frame, disposal)
      }
    }
  }

  private mutating func draw(_ frame: GIFBlocks.Frame, _ disposal: Int) {
    let whole = FrameArea(
      left: frame.left, top: frame.top, width: frame.width, height: frame.height)
    guard let area = whole.part(on: size) else { return }
    let pixelCount = area.width * area.height
    switch disposal {
    case Disposal.background: leftover = (area, [UInt8](repeating: 0, count: pixelCount))
    case Disposal.previous: leftover = (area, contents(of: area))
    default: break
    }
    replace(area, with: [UInt8](repeating: Self.drawn, count: pixelCount))
  }

  private func range(ofRow row: Int, in area: FrameArea) -> Range<Int> {
    let start = row * size.width + area.left
    return start..<start + area.width
  }

  private func contents(of area: FrameArea) -> [UInt8] {
    area.rows.flatMap { mask[range(ofRow: $0, in: area)] }
  }

  private mutating func replace(_ area: FrameArea, with contents: [UInt8]) {
    for (index, row) in area.rows.enumerated() {
      let part = contents[index * area.width..<(index + 1) * area.width]
      mask.replaceSubrange(range(ofRow: row, in: area), with: part)
    }
  }

  /// The pixels of a frame, transparent where nothing was drawn.
  ///
  /// - Parameter frame: the frame that was drawn last, without an alpha channel.
  func applied(to frame: borrowing Image) throws(DecodeError) -> Image {
    guard mask.contains(0), frame.size == size else { return frame.retained() }
    let alpha = try unsafe Image.filled(
      width: UInt32(size.width), height: UInt32(size.height), bandCount: 1,
      interpretation: VIPS_INTERPRETATION_B_W
    ) { (start) throws(DecodeError) in unsafe start.update(from: mask, count: mask.count) }
    do throws(VipsError) {
      return try frame.joined(withAlpha: alpha)
    } catch {
      throw DecodeError(error)
    }
  }
}
