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

/// Refuses frames of a GIF whose pixels do not go to their end. libvips notices that in the first frame
/// only, and shows a part of a later one.
struct GIFFrameCheck {
  private var blocks: GIFBlocks?

  init(of source: any ByteSource) {
    blocks = try? GIFBlocks(ByteWindow(source))
  }

  /// Checks the next frame.
  mutating func advance() throws(DecodeError) {
    do throws(FactsError) {
      while let block = try blocks?.next() {
        guard case .frame = block else { continue }
        _ = try blocks?.endOfFrame()
        return
      }
    } catch {}
    throw .corrupt("the file ends before the frame does")
  }
}

/// The compressed codes of a GIF's frame, in sub-blocks (GIF89a section 15), up to where the file is
/// cut.
struct GIFCodes {
  private let input: PictureInput
  private var offset: Int
  /// Where the sub-block ends that is being read.
  private var blockEnd: Int
  private var bits: UInt32 = 0
  private var bitCount = 0

  /// - Parameter offset: of the first sub-block.
  init(_ input: PictureInput, at offset: Int) {
    self.input = input
    self.offset = offset
    blockEnd = offset
  }

  /// - Parameter width: bits of the code, at most 12.
  /// - Returns: `nil` where the codes end.
  mutating func next(width: Int) -> Int? {
    while bitCount < width {
      guard let byte = nextByte() else { return nil }
      bits |= UInt32(byte) << UInt32(bitCount)
      bitCount += 8
    }
    let code = Int(bits & (1 << UInt32(width) - 1))
    bits >>= UInt32(width)
    bitCount -= width
    return code
  }

  private mutating func nextByte() -> UInt8? {
    if offset == blockEnd {
      guard let length = byte(at: offset), length > 0 else { return nil }
      offset += 1
      blockEnd = offset + Int(length)
    }
    defer { offset += 1 }
    return byte(at: offset)
  }

  private func byte(at offset: Int) -> UInt8? {
    offset < input.byteCount ? unsafe input.buffer[offset] : nil
  }
}

/// Decompresses the colour indexes of a GIF's frame (GIF89a appendix F), as far as they are there.
struct GIFDecompression {
  /// Codes have at most 12 bits.
  private static let codeMaximum = 4_096
  private static let widthMaximum = 12

  private var codes: GIFCodes
  /// Bits of an index.
  private let indexWidth: Int
  private let clearCode: Int
  /// Bits of the next code.
  private var codeWidth: Int
  /// The code that the next sequence gets.
  private var nextCode: Int
  /// The code before; `nil` after a clear code.
  private var previous: Int?
  private var firstIndex: UInt8 = 0
  /// A sequence is that of another code and one more index.
  private var prefixes = [UInt16](repeating: 0, count: codeMaximum)
  private var lastIndexes = [UInt8](repeating: 0, count: codeMaximum)
  private(set) var indexes: [UInt8] = []

  /// Decompresses as many indexes as there are, at most so many.
  ///
  /// - Parameter offset: of the byte with the width of an index, in front of the sub-blocks.
  /// - Throws: ``DecodeError/corrupt(_:)`` for a width that no index has.
  static func indexes(
    in input: PictureInput, at offset: Int, upTo maximumCount: Int
  ) throws(DecodeError) -> [UInt8] {
    guard let width = input.bytes(at: offset, upTo: 1).first, (1...8).contains(width) else {
      throw .corrupt("its indexes have no width")
    }
    var decompression = GIFDecompression(
      GIFCodes(input, at: offset + 1), indexWidth: Int(width))
    decompression.run(upTo: maximumCount)
    return Array(decompression.indexes.prefix(maximumCount))
  }

  private init(_ codes: GIFCodes, indexWidth: Int) {
    self.codes = codes
    self.indexWidth = indexWidth
    clearCode = 1 << indexWidth
    codeWidth = indexWidth + 1
    nextCode = clearCode + 2
  }

  private var endCode: Int { clearCode + 1 }

  private mutating func run(upTo maximumCount: Int) {
    while indexes.count < maximumCount, let code = codes.next(width: codeWidth), code != endCode {
      if code == clearCode {
        codeWidth = indexWidth + 1
        nextCode = clearCode + 2
        previous = nil
      } else if !take(code) {
        return
      }
    }
  }

  /// - Returns: `false` for a code that has no sequence.
  private mutating func take(_ code: Int) -> Bool {
    guard let previous else {
      guard code < clearCode else { return false }
      firstIndex = UInt8(code)
      indexes.append(firstIndex)
      self.previous = code
      return true
    }
    guard code <= nextCode else { return false }
    append(code, after: previous)
    define(previous)
    self.previous = code
    return true
  }

  /// Appends the sequence of a code. That of the next code is the previous one and its first index.
  private mutating func append(_ code: Int, after previous: Int) {
    let start = indexes.count
    var current = code
    if code == nextCode {
      indexes.append(firstIndex)
      current = previous
    }
    while current >= clearCode {
      indexes.append(lastIndexes[current])
      current = Int(prefixes[current])
    }
    firstIndex = UInt8(current)
    indexes.append(firstIndex)
    indexes[start...].reverse()
  }

  private mutating func define(_ previous: Int) {
    guard nextCode < Self.codeMaximum else { return }
    prefixes[nextCode] = UInt16(previous)
    lastIndexes[nextCode] = firstIndex
    nextCode += 1
    if nextCode == 1 << codeWidth, codeWidth < Self.widthMaximum { codeWidth += 1 }
  }
}

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
}

/// Where the rows of a GIF's frame are stored, while only the first ones are there. A row that an
/// interlaced frame lacks is shown as the one above it.
struct GIFRows {
  /// First row and step of each pass (GIF89a appendix E).
  private static let passes = [(0, 8), (4, 8), (2, 4), (1, 2)]

  private let height: Int
  /// For each row the stored row that is shown there; `nil` for none.
  private let storedRows: [Int?]
  /// Whether they show something of the whole frame, or, if it is not interlaced, its first rows.
  let showFrame: Bool

  init(height: Int, storedCount: Int, isInterlaced: Bool) {
    self.height = height
    var rows = [Int?](repeating: nil, count: height)
    let order = isInterlaced ? Self.interlacedOrder(height: height) : Array(0..<height)
    for (stored, row) in order.prefix(storedCount).enumerated() { rows[row] = stored }
    let firstPassCount = (height + Self.passes[0].1 - 1) / Self.passes[0].1
    showFrame = storedCount >= (isInterlaced ? firstPassCount : 1)
    if isInterlaced {
      for row in rows.indices.dropFirst() where rows[row] == nil { rows[row] = rows[row - 1] }
    }
    storedRows = rows
  }

  func storedRow(for row: Int) -> Int? { storedRows[row] }

  private static func interlacedOrder(height: Int) -> [Int] {
    passes.flatMap { first, step in Array(stride(from: first, to: height, by: step)) }
  }
}
