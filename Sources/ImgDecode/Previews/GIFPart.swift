import ImgFacts

/// The first frame of a GIF whose end has not arrived. libvips leaves the rows transparent that an
/// interlaced frame lacks, and does not say which ones it lacks.
final class GIFPart: OpenPicture {
  let header: PictureHeader
  private let input: PictureInput
  private let frame: GIFBlocks.Frame
  private let area: FrameArea
  /// Red, green and blue of each colour.
  private let colours: [UInt8]
  private let transparentIndex: Int?

  /// Reads up to the first frame.
  init(_ input: PictureInput) throws(DecodeError) {
    do throws(FactsError) {
      var blocks = try GIFBlocks(ByteWindow(input))
      var transparentIndex: Int?
      var first: GIFBlocks.Frame?
      while first == nil, let block = try blocks.next() {
        switch block {
        case .control(let control): transparentIndex = control.transparentIndex
        case .extension: break
        case .frame(let frame): first = frame
        }
      }
      guard let frame = first, let table = frame.colourTable ?? blocks.globalColourTable else {
        throw FactsError.invalid("it has no frame with colours")
      }
      header = PictureHeader(
        stored: .init(width: blocks.width, height: blocks.height), orientation: 1,
        frames: 1)
      self.frame = frame
      self.transparentIndex = transparentIndex
      colours = input.bytes(at: table.lowerBound, upTo: table.count)
    } catch {
      throw .corrupt("\(error)")
    }
    area = FrameArea(left: frame.left, top: frame.top, width: frame.width, height: frame.height)
    guard area.isInside(header.stored) else { throw .unsupported("a frame beyond its canvas") }
    self.input = input
  }

  /// - Throws: ``DecodeError/corrupt(_:)`` while an interlaced frame lacks a part of its first pass, or
  ///   another frame its first row.
  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    let indexes = try GIFDecompression.indexes(
      in: input, at: frame.dataOffset, upTo: area.width * area.height)
    let rows = GIFRows(
      height: area.height, storedCount: indexes.count / area.width,
      isInterlaced: frame.isInterlaced)
    guard rows.showFrame else { throw .corrupt("the first rows of its frame are missing") }
    var samples: [UInt8] = []
    samples.reserveCapacity(indexes.count * FrameCanvas.bandCount)
    for row in 0..<area.height {
      guard let stored = rows.storedRow(for: row) else {
        samples += [UInt8](repeating: 0, count: area.width * FrameCanvas.bandCount)
        continue
      }
      for index in indexes[stored * area.width..<(stored + 1) * area.width] {
        append(Int(index), to: &samples)
      }
    }
    var canvas = FrameCanvas(header.stored)
    canvas.draw(samples.span, on: area, .source)
    return try canvas.image()
  }

  /// An index without a colour is as transparent as the transparent one.
  private func append(_ index: Int, to samples: inout [UInt8]) {
    let start = index * 3
    guard index != transparentIndex, start + 2 < colours.count else {
      samples += [0, 0, 0, 0]
      return
    }
    samples.append(colours[start])
    samples.append(colours[start + 1])
    samples.append(colours[start + 2])
    samples.append(255)
  }

  func reason(for error: VipsError) -> DecodeError { DecodeError(error) }
}

@available(*, unavailable)
extension GIFPart: Sendable {}
