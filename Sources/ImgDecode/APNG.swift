import CVips
import ImgFacts
import ImgModel

/// The chunks of an animated PNG, sorted by the frames they belong to (PNG Specification, third
/// edition, sections 4.9 and 11.3.6).
struct APNGFile {
  /// A chunk for each 800 bytes of the largest body.
  private static let maximumChunkCount = 1 << 17
  private static let sequenceNumberByteCount = 4
  private static let signatureByteCount = 8

  private let input: PictureInput
  let size: ThumbnailGeometry.Size
  private(set) var frames: [APNGFrame] = []
  /// The chunks before the pixels that say what the samples mean; IHDR is the first.
  private var prologue: [Range<Int>] = []
  private var declaredFrameCount: Int?
  private var nextSequenceNumber = 0
  private var hasPixels = false

  /// Frames that a PNG declares; `nil` if it is not animated. An acTL chunk behind the pixels or
  /// without frames does not count.
  static func frameCount(in source: any ByteSource, as format: ImageFormat = .png) -> Int? {
    guard format == .png else { return nil }
    var chunks = PNGChunks(ByteWindow(source))
    for _ in 0..<maximumChunkCount {
      guard let chunk = try? chunks.next(), chunk.name != "IDAT" else { return nil }
      if chunk.name == "acTL", let data = source.bytes(in: chunk.dataRange), data.count >= 4 {
        let count = BinaryFields(data).u32(0)
        return count > 0 ? count : nil
      }
    }
    return nil
  }

  /// Reads all chunks. The pixels are only found, not decoded.
  init(_ input: PictureInput) throws(DecodeError) {
    guard let header = PNGHeader(input.bytes(at: 0, upTo: PNGHeader.byteCount)) else {
      throw .corrupt("its header is cut")
    }
    self.input = input
    size = .init(width: header.width, height: header.height)
    try readChunks()
    guard frames.count == declaredFrameCount else {
      throw .corrupt("\(frames.count) of \(declaredFrameCount ?? 0) frames are there")
    }
    guard frames.allSatisfy({ !$0.data.isEmpty }) else { throw .corrupt("a frame has no pixels") }
  }

  private mutating func readChunks() throws(DecodeError) {
    var chunks = PNGChunks(ByteWindow(input))
    for _ in 0..<Self.maximumChunkCount {
      let chunk: PNGChunks.Chunk?
      do throws(FactsError) { chunk = try chunks.next() } catch { throw .corrupt("a chunk is cut") }
      guard let chunk, chunk.range.upperBound <= input.byteCount else {
        throw .corrupt("a chunk is cut")
      }
      if chunk.name == "IEND" { return }
      try read(chunk)
    }
    throw .unsupported("PNG of more than \(Self.maximumChunkCount) chunks")
  }

  private mutating func read(_ chunk: PNGChunks.Chunk) throws(DecodeError) {
    switch chunk.name {
    case "acTL" where !hasPixels:
      let counts = BinaryFields(try checkedData(of: chunk, atLeast: 8))
      declaredFrameCount = counts.u32(0)
    case "fcTL":
      let control = try numberedData(of: chunk, atLeast: APNGFrame.controlByteCount)
      guard hasPixels || frames.isEmpty else { throw .corrupt("a frame has no pixels") }
      guard frames.count < declaredFrameCount ?? 0 else {
        throw .corrupt("it has more frames than it declares")
      }
      frames.append(try APNGFrame(control: control, on: size, isDefaultImage: !hasPixels))
    case "IDAT":
      hasPixels = true
      // Without an fcTL chunk before it, the default image is no frame.
      guard let first = frames.first, first.isDefaultImage else { return }
      guard frames.count == 1 else { throw .corrupt("the pixels of two frames are mixed") }
      _ = try checkedData(of: chunk, atLeast: 0)
      frames[0].data.append(chunk.dataRange)
    case "fdAT":
      _ = try numberedData(of: chunk, atLeast: Self.sequenceNumberByteCount)
      guard let last = frames.last, !last.isDefaultImage else {
        throw .corrupt("pixels belong to no frame")
      }
      let pixels = chunk.dataRange.dropFirst(Self.sequenceNumberByteCount)
      frames[frames.count - 1].data.append(pixels)
    // All that may stand before the pixels and changes what they mean.
    case "IHDR", "PLTE", "tRNS", "cHRM", "gAMA", "iCCP", "sBIT", "sRGB", "cICP":
      if !hasPixels { prologue.append(chunk.range) }
    default: break
    }
  }

  /// Chunks of frames count up from 0 (section 11.3.6.4).
  ///
  /// - Returns: the data behind the number.
  private mutating func numberedData(
    of chunk: PNGChunks.Chunk, atLeast byteCount: Int
  ) throws(DecodeError) -> [UInt8] {
    let data = try checkedData(of: chunk, atLeast: byteCount)
    guard BinaryFields(data).u32(0) == nextSequenceNumber else {
      throw .corrupt("its frames are out of order")
    }
    nextSequenceNumber += 1
    return Array(data.dropFirst(Self.sequenceNumberByteCount))
  }

  private func checkedData(
    of chunk: PNGChunks.Chunk, atLeast byteCount: Int
  ) throws(DecodeError) -> [UInt8] {
    let named = input.bytes(at: chunk.range.lowerBound + 4, upTo: chunk.range.count - 8)
    let sum = input.bytes(at: chunk.dataRange.upperBound, upTo: 4)
    guard chunk.dataByteCount >= byteCount, sum == Self.checksum(of: named) else {
      throw .corrupt("a chunk \(chunk.name) is damaged")
    }
    return Array(named.dropFirst(4))
  }

  // MARK: - Frames as files

  /// A PNG of one frame's pixels alone. libpng then finds its damage, too.
  func file(of frame: APNGFrame) -> [UInt8] {
    var file = PNGHeader.signature
    for chunk in prologue {
      let bytes = input.bytes(at: chunk.lowerBound, upTo: chunk.count)
      // The first is IHDR, which begins with the size.
      file +=
        chunk == prologue.first
        ? Self.chunk(
          "IHDR",
          BigEndianBytes.number(frame.area.width) + BigEndianBytes.number(frame.area.height)
            + bytes.dropFirst(16).dropLast(4))
        : bytes
    }
    var pixels: [UInt8] = []
    pixels.reserveCapacity(frame.data.reduce(0) { $0 + $1.count })
    for range in frame.data { pixels += input.bytes(at: range.lowerBound, upTo: range.count) }
    return file + Self.chunk("IDAT", pixels) + Self.chunk("IEND", [])
  }

  private static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
    let named = Array(name.utf8) + data
    return BigEndianBytes.number(data.count) + named + checksum(of: named)
  }

  private static func checksum(of bytes: [UInt8]) -> [UInt8] {
    var sum = CRC32()
    sum.add(bytes.span)
    return BigEndianBytes.number(Int(sum.value))
  }
}

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
    let fields = BinaryFields(control)
    area = FrameArea(
      left: fields.u32(8), top: fields.u32(12), width: fields.u32(0),
      height: fields.u32(4))
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

/// The frames of an animated PNG. libvips shows only the picture for readers without animation.
final class APNGFrames: FrameSequence {
  private let file: APNGFile
  private var canvas: FrameCanvas
  private var index = 0
  /// What the last frame covered, if the next one is drawn on that.
  private var covered: [UInt8] = []

  /// - Parameters:
  ///   - input: a PNG whose size is within the limits.
  ///   - first: the frame that comes first. Those before it are drawn, too.
  /// - Throws: also for a frame that does not exist.
  init(_ input: PictureInput, startingAt first: Int = 0) throws(DecodeError) {
    file = try APNGFile(input)
    canvas = FrameCanvas(file.size)
    guard first < file.frames.count else { throw .corrupt("it has no frame \(first)") }
    while index < first { _ = try drawNext() }
  }

  func next() throws(DecodeError) -> Image? {
    guard index < file.frames.count else { return nil }
    let frame = try drawNext()
    let image = try canvas.image()
    image.setProfile(of: frame)
    guard image.isOpaque else { return image }
    // It is scaled faster than with an alpha channel.
    do throws(VipsError) { return try image.withoutAlpha() } catch { throw DecodeError(error) }
  }

  /// - Returns: the frame alone.
  private func drawNext() throws(DecodeError) -> Image {
    if index > 0 { dispose(of: file.frames[index - 1], isFirst: index == 1) }
    let frame = file.frames[index]
    let image = try samples(of: frame)
    if frame.disposal == .previous { covered = canvas.contents(of: frame.area) }
    image.withSamples { canvas.draw($0, on: frame.area, frame.blending) }
    index += 1
    return image
  }

  private func dispose(of frame: APNGFrame, isFirst: Bool) {
    switch frame.disposal {
    case .none: break
    case .background: canvas.clear(frame.area)
    // Nothing was there before the first frame.
    case .previous where isFirst: canvas.clear(frame.area)
    case .previous:
      let covered = covered
      canvas.draw(covered.span, on: frame.area, .source)
    }
  }

  /// The pixels of a frame as the canvas has them. Colours that are not red, green and blue lose their
  /// profile, because the canvas could not have it.
  private func samples(of frame: APNGFrame) throws(DecodeError) -> Image {
    let bytes = file.file(of: frame)
    return try unsafe bytes.span.withUnsafeBufferPointer { (buffer) throws(DecodeError) in
      let picture = try VipsPicture(unsafe PictureInput(buffer), in: .png, .whole)
      guard picture.header.stored == .init(width: frame.area.width, height: frame.area.height)
      else { throw .corrupt("a frame has two headers") }
      let decoded = try picture.firstFrame(for: picture.header.stored)
      do throws(VipsError) {
        let image = try decoded.preparedForScaling()
        let isColoured = image.interpretation == VIPS_INTERPRETATION_sRGB
        return try (isColoured ? image : try image.inSRGB(.eight)).withAlpha().inMemory()
      } catch {
        throw DecodeError(error)
      }
    }
  }
}
