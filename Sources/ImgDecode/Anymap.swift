import CVips
import ImgFacts
import ImgModel

/// A portable anymap. libvips has no loader for PAM, and takes the greatest sample of every other one for 255 or
/// 65,535, whatever its header says.
final class AnymapPicture: OpenPicture {
  let header: PictureHeader
  private let input: PictureInput
  private let anymap: AnymapHeader
  private let extent: DecodeExtent

  /// Reads the header.
  ///
  /// - Parameter depth: of the samples of the frame; those of 8 bits or fewer stay 8 bits.
  init(
    _ input: PictureInput, _ extent: DecodeExtent, _ depth: ImageVariant.Depth = .eight
  ) throws(DecodeError) {
    do throws(FactsError) {
      anymap = try AnymapHeader(in: ByteWindow(input))
    } catch .truncated {
      throw .corrupt("its header is cut")
    } catch {
      throw DecodeError(error)
    }
    header = PictureHeader(
      stored: .init(width: anymap.width, height: anymap.height), orientation: 1, frames: 1,
      hasMoreThanEightBits: depth != .eight && anymap.samples.haveMoreThanEightBits)
    self.input = input
    self.extent = extent
  }

  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    guard max(anymap.width, anymap.height) <= Int(VIPS_MAX_COORD) else {
      throw .unsupported("PNM of more than \(VIPS_MAX_COORD) pixels a side")
    }
    let possibleCount = anymap.possibleRowCount(inFileOf: input.byteCount)
    guard extent == .readablePart || possibleCount == anymap.height else {
      throw .corrupt("the file is long enough for \(possibleCount) of \(anymap.height) rows")
    }
    guard possibleCount > 0 else { throw .corrupt(Image.noRowText) }
    return header.hasMoreThanEightBits
      ? try frame(in: UInt16.self) : try frame(in: UInt8.self)
  }

  private func frame<Sample: UnsignedSample>(
    in sample: Sample.Type
  ) throws(DecodeError) -> Image {
    try unsafe Image.filled(
      with: sample, width: UInt32(anymap.width), height: UInt32(anymap.height),
      bandCount: Int32(anymap.bandCount),
      interpretation: anymap.bandCount < 3 ? Sample.depth.graySpace : Sample.depth.colourSpace
    ) { (start) throws(DecodeError) in
      var samples = unsafe MutableSpan(
        _unsafeStart: start, count: anymap.width * anymap.height * anymap.bandCount)
      if extent == .readablePart { samples.update(repeating: 0) }
      let file = unsafe Span(_unsafeElements: input.buffer)
      let rowCount = AnymapRows<Sample>(of: anymap).decode(file, to: &samples)
      guard rowCount > 0 else { throw .corrupt(Image.noRowText) }
      guard extent == .readablePart || rowCount == anymap.height else {
        throw .corrupt("\(rowCount) of \(anymap.height) rows are there")
      }
    }
  }
}

/// Decodes the samples of an anymap: rows from the upper one, without gaps.
struct AnymapRows<Sample: UnsignedSample> {
  private let anymap: AnymapHeader
  /// What the stored numbers become.
  private let levels: [Sample]
  private let rowSampleCount: Int

  init(of anymap: AnymapHeader) {
    self.anymap = anymap
    levels = anymap.samples.levels()
    rowSampleCount = anymap.width * anymap.bandCount
  }

  /// Decodes as many rows as there are.
  ///
  /// - Returns: their number. They are the first ones as stored.
  func decode(_ file: Span<UInt8>, to samples: inout MutableSpan<Sample>) -> Int {
    switch anymap.samples {
    case .text, .textBits: return decodeText(file, to: &samples)
    case .bits, .numbers, .floats: break
    }
    let rowCount = anymap.possibleRowCount(inFileOf: file.count)
    for row in 0..<rowCount {
      let start = anymap.sampleOffset + row * anymap.rowByteCount
      let bytes = file.extracting(start..<start + anymap.rowByteCount)
      decode(row: bytes, to: &samples, at: place(ofRow: row))
    }
    return rowCount
  }

  /// Where the first sample of a row is written.
  private func place(ofRow stored: Int) -> Int {
    if case .floats = anymap.samples { return (anymap.height - 1 - stored) * rowSampleCount }
    return stored * rowSampleCount
  }

  // MARK: - Binary

  private func decode(row: Span<UInt8>, to samples: inout MutableSpan<Sample>, at place: Int) {
    switch anymap.samples {
    case .numbers(let maximum) where maximum > 255:
      decode(row, to: &samples, at: place) { row, index in
        Int(row[2 * index]) << 8 | Int(row[2 * index + 1])
      }
    case .numbers: decode(row, to: &samples, at: place) { row, index in Int(row[index]) }
    case .floats(.bigEndian):
      decode(row, to: &samples, at: place) { row, index in step(ofFloat: Self.word(row, index)) }
    case .floats(.littleEndian):
      decode(row, to: &samples, at: place) { row, index in
        step(ofFloat: Self.word(row, index).byteSwapped)
      }
    case .bits, .textBits, .text:
      decode(row, to: &samples, at: place) { row, index in
        Int(row[index / 8] >> UInt8(7 - index % 8) & 1)
      }
    }
  }

  /// - Parameter number: the stored number of a sample, counted in the row, as an index of ``levels``.
  @inline(__always)
  private func decode(
    _ row: Span<UInt8>, to samples: inout MutableSpan<Sample>, at place: Int,
    _ number: (Span<UInt8>, _ index: Int) -> Int
  ) {
    let (bandCount, storedCount) = (anymap.bandCount, anymap.storedBandCount)
    let levels = levels.span
    for x in 0..<anymap.width {
      for band in 0..<bandCount {
        samples[place + x * bandCount + band] = levels[number(row, x * storedCount + band)]
      }
    }
  }

  private static func word(_ row: Span<UInt8>, _ index: Int) -> UInt32 {
    (0..<4).reduce(0) { $0 << 8 | UInt32(row[4 * index + $1]) }
  }

  /// What is no number is black.
  private func step(ofFloat bits: UInt32) -> Int {
    let light = Float(bitPattern: bits)
    return light > 0 ? Int(min(light, 1) * Float(levels.count - 1) + 0.5) : 0
  }

  // MARK: - Text

  private func decodeText(_ file: Span<UInt8>, to samples: inout MutableSpan<Sample>) -> Int {
    var place = anymap.sampleOffset
    for index in 0..<anymap.height * rowSampleCount {
      guard let number = number(in: file, at: &place) else { return index / rowSampleCount }
      samples[index] = levels[min(number, levels.count - 1)]
    }
    return anymap.height
  }

  private static var digits: ClosedRange<UInt8> { UInt8(ascii: "0")...UInt8(ascii: "9") }

  /// The next number, with white space and comments in front of it. One of a bitmap is a single digit.
  ///
  /// - Returns: `nil` where something else stands, or nothing.
  private func number(in file: Span<UInt8>, at place: inout Int) -> Int? {
    skipBlanks(in: file, at: &place)
    guard place < file.count, Self.digits.contains(file[place]) else { return nil }
    var number = 0
    repeat {
      // No number that counts has more digits.
      number = min(number * 10 + Int(file[place] - Self.digits.lowerBound), 1 << 20)
      place += 1
    } while anymap.samples != .textBits && place < file.count
      && Self.digits.contains(file[place])
    return number
  }

  private func skipBlanks(in file: Span<UInt8>, at place: inout Int) {
    var isComment = false
    while place < file.count {
      switch file[place] {
      case UInt8(ascii: "\n"): isComment = false
      case UInt8(ascii: "#"): isComment = true
      case UInt8(ascii: " "), 0x09...0x0D: break
      default: if !isComment { return }
      }
      place += 1
    }
  }
}

extension AnymapHeader.Samples {
  fileprivate var haveMoreThanEightBits: Bool {
    switch self {
    case .bits, .textBits: false
    case .text(let maximum), .numbers(let maximum): maximum > 255
    case .floats: true
    }
  }

  /// What each number that can be stored becomes in sRGB; of floating-point numbers, each of 65,536 steps from
  /// 0 to 1.
  fileprivate func levels<Sample: UnsignedSample>() -> [Sample] {
    let white = Int(Sample.max)
    return switch self {
    case .bits, .textBits: [Sample.max, 0]
    case .text(let maximum), .numbers(let maximum):
      (0...(maximum > 255 ? 65_535 : 255)).map {
        Sample((min($0, maximum) * 2 * white / maximum + 1) / 2)
      }
    case .floats:
      (0...65_535).map {
        Sample(BrightLight.level(ofLight: Double($0) / 65_535) * Double(white) + 0.5)
      }
    }
  }
}
