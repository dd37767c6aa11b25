import CPNG
import ImgFacts
import ImgModel

/// What is wrong with a file whose loader does not say it.
enum FileFault {
  /// - Parameter readsPixels: whether the header was read without an error. A picture with a damaged one may have
  ///   any number of pixels.
  /// - Returns: `nil` if nothing is found.
  static func text(
    of input: PictureInput, in format: ImageFormat, readsPixels: Bool
  ) -> String? {
    switch format {
    case .png: libpngText(of: input, readsPixels: readsPixels)
    case .webp: missingBytes(of: input) ?? textOfFacts(of: input)
    default: textOfFacts(of: input)
    }
  }

  /// libvips keeps none of libpng's words.
  private static func libpngText(of input: PictureInput, readsPixels: Bool) -> String? {
    guard let bytes = unsafe input.buffer.baseAddress else { return nil }
    var text = [CChar](repeating: 0, count: 128)
    guard
      unsafe img_png_find_fault(bytes, input.byteCount, readsPixels, &text, text.count)
    else { return nil }
    return "libpng: " + String(decoding: text.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
  }

  /// A WebP declares its length.
  private static func missingBytes(of input: PictureInput) -> String? {
    guard let end = try? WebPChunks(file: ByteWindow(input)).end, end > input.byteCount else {
      return nil
    }
    return "the file has \(input.byteCount) of \(end) bytes"
  }

  private static func textOfFacts(of input: PictureInput) -> String? {
    do throws(FactsError) {
      _ = try PictureFacts.reading(input, .all)
      return nil
    } catch {
      return Failure(error).detail
    }
  }
}

/// Gray AVIF pictures whose samples go from 16 to 235, as those of video: libheif widens such
/// colours, and leaves gray as it is.
enum AV1Gray {
  /// How much of a file is examined: the colour properties come before the samples.
  static let examinedByteCount = 65_536

  /// - Parameter file: the first ``examinedByteCount`` bytes, or all.
  static func isLimited(in file: [UInt8]) -> Bool {
    let properties = properties(in: file)
    // AV1 Codec ISO Media File Format Binding section 2.3.3: two bytes, then flags (0x10 is
    // `monochrome`), one more byte, and the sequence header.
    guard let configuration = properties.first(where: { $0.type == "av1C" })?.payload,
      configuration.count > 4, configuration.dropFirst(2).first.map({ $0 & 0x10 != 0 }) == true
    else { return false }
    // The property of the file goes before what the stream says (ISO/IEC 14496-12 section 12.1.5).
    let colour = properties.first { $0.type == "colr" && $0.payload.starts(with: "nclx".utf8) }
    if let colour, colour.payload.count >= 11 {
      return colour.payload.dropFirst(10).first.map { $0 & 0x80 == 0 } == true
    }
    return AV1SequenceHeader.codePoints(in: Array(configuration.dropFirst(4)))?.isFullRange == false
  }

  private static func properties(in file: [UInt8]) -> [(type: String, payload: [UInt8])] {
    guard let boxes = try? ISOMediaBox.itemProperties(in: ByteWindow(WholeBytes(file))) else {
      return []
    }
    return boxes.compactMap { box in
      let payload = try? box.payload.bytes(at: 0, count: box.payload.byteCount)
      return payload.map { (box.type, $0) }
    }
  }
}

/// The chunks of a PNG file (PNG Specification, third edition, section 5).
enum PNGContainer {
  /// The same picture with its EXIF metadata once, as the specification has it (section 5.6). libvips 8.14
  /// writes it before the pixels and once more behind them. Anything but a whole PNG file is returned as
  /// it is.
  static func withoutRepeatedEXIF(_ file: [UInt8]) -> [UInt8] {
    var chunks = PNGChunks(ByteWindow(WholeBytes(file)))
    var ranges: [Range<Int>] = []
    while let chunk = try? chunks.next() {
      guard chunk.range.upperBound <= file.count else { return file }
      if chunk.name == "eXIf" { ranges.append(chunk.range) }
      if chunk.name == "IEND" { break }
    }
    var result = file
    for range in ranges.dropFirst().reversed() { result.removeSubrange(range) }
    return result
  }
}

/// What a PNG says of its pixels (PNG Specification, third edition, section 11.2.1).
struct PNGHeader {
  let width: Int
  let height: Int
  /// Bits of a pixel, of all its channels together.
  let bitCount: Int

  static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
  static let byteCount = 26
  private static let largestSide = Int(Int32.max)

  /// - Parameter file: the first ``byteCount`` bytes, or all.
  /// - Returns: `nil` if they are no beginning of a PNG.
  init?(_ file: [UInt8]) {
    guard file.count >= Self.byteCount, file.starts(with: Self.signature),
      file[12..<16].elementsEqual("IHDR".utf8)
    else { return nil }
    let numbers = BinaryFields(file)
    width = numbers.u32(16)
    height = numbers.u32(20)
    let sides = 1...Self.largestSide
    guard sides.contains(width), sides.contains(height) else { return nil }
    // By the colour type: gray, colours, indexes, gray and colours with an alpha channel.
    let channelCounts: [UInt8: Int] = [0: 1, 2: 3, 3: 1, 4: 2, 6: 4]
    guard let channelCount = channelCounts[file[25]] else { return nil }
    bitCount = Int(file[24]) * channelCount
  }
}

/// The major brand (ISO/IEC 14496-12 section 4.3) of a file whose pictures follow each other in time.
///
/// Many of them hold their first picture once more as a still. libheif 1.15 decodes it, but refuses
/// the file by its brand.
enum SequenceBrand {
  /// - Returns: a brand of stills, the first letter uppermost, for a file that has one of sequences.
  static func replacement(in input: PictureInput, as format: ImageFormat) -> UInt32? {
    guard [.avif, .heif].contains(format) else { return nil }
    let brand = String(decoding: input.bytes(at: 8, upTo: 4), as: UTF8.self)
    guard HEIFBrand.isSequence(brand) else { return nil }
    let still = format == .avif ? "avif" : "heic"
    return still.utf8.reduce(0) { $0 << 8 | UInt32($1) }
  }
}

/// Kinds of TIFF that exist and that are not decoded.
struct TIFFFeatures {
  private enum Tag {
    static let bitsPerSample = 258
    static let compression = 259
    static let photometricInterpretation = 262
    static let sampleFormat = 339
    static let minimumSample = 340
    static let maximumSample = 341
  }

  /// Photometric interpretations that are decoded, as far as the other tags allow: gray in both
  /// directions, RGB, palette, CMYK, YCbCr and CIE L*a*b* (TIFF 6.0 sections 4 to 6, 16, 21, 23).
  private static let interpretations = [0, 1, 2, 3, 5, 6, 8]
  /// Compressions that are decoded: none, the fax codes, LZW, both of JPEG, both of Deflate,
  /// PackBits.
  private static let compressions = [1, 2, 3, 4, 5, 6, 7, 8, 32_773, 32_946]

  private static let jpegCompressions = [6, 7]
  private static let lumaAndChroma = 6

  private let directory: TIFFDirectory

  /// - Returns: `nil` when there is no directory to read. BigTIFF is not looked into.
  init?(of input: PictureInput) {
    guard let file = try? TIFFFile(ByteWindow(input)), !file.isBig,
      let directory = try? file.directory(at: file.firstDirectoryOffset)
    else { return nil }
    self.directory = directory
  }

  private func value(_ tag: Int) -> Int? { try? directory.firstNumber(tag) }

  /// What black and white are in floating point, as the file says (TIFF 6.0 section 19); `nil` where it does not.
  var sampleRange: ClosedRange<Double>? {
    guard let low = try? directory.firstReal(Tag.minimumSample),
      let high = try? directory.firstReal(Tag.maximumSample), low.isFinite, high.isFinite,
      low < high
    else { return nil }
    return low...high
  }

  /// What the samples mean, where the loader would show them in wrong colours, or as gray; `nil` where
  /// it would not.
  var unknownInterpretation: String? {
    guard let interpretation = value(Tag.photometricInterpretation) else { return nil }
    guard Self.interpretations.contains(interpretation) else {
      return "TIFF of photometric interpretation \(interpretation)"
    }
    // The decoder of JPEG converts the colours. The loader takes those of other compressions for RGB.
    let isJPEG = Self.jpegCompressions.contains(value(Tag.compression) ?? 1)
    return interpretation == Self.lumaAndChroma && !isJPEG ? "TIFF in YCbCr without JPEG" : nil
  }

  /// The first feature for which a file cannot be decoded, in words for people; `nil` when it has
  /// none, so that it must be damaged.
  var undecoded: String? {
    if let compression = value(Tag.compression), !Self.compressions.contains(compression) {
      return "TIFF of compression \(compression)"
    }
    if let format = value(Tag.sampleFormat), format != 1 {
      return "TIFF with signed or floating-point samples"
    }
    // Bits are packed without gaps, which only 1, 8 and 16 of them make easy.
    if let bits = value(Tag.bitsPerSample), ![1, 8, 16].contains(bits) {
      return "TIFF with \(bits)-bit samples"
    }
    return nil
  }
}

/// The RIFF file around a WebP picture (RFC 9649 section 2).
enum WebPContainer {
  /// Of the extended header (section 2.7.1).
  private static let profileFlag: UInt8 = 0x20

  /// The same picture without EXIF, XMP and colour profile. Anything but a whole WebP file is
  /// returned as it is.
  static func strippingMetadata(_ file: [UInt8]) -> [UInt8] {
    guard let chunks = chunks(of: file) else { return file }
    var body: [UInt8] = []
    for chunk in chunks where !["EXIF", "XMP ", "ICCP"].contains(chunk.name) {
      var kept = Array(file[chunk.range])
      // The flags of the extended header say what is in the file (section 2.7.1): keep the bits of
      // transparency (0x10) and animation (0x02).
      if chunk.name == "VP8X" { kept[WebPChunks.chunkHeaderByteCount] &= 0x12 }
      body += kept
    }
    let byteCount = UInt32(body.count + 4)
    let size = (0..<4).map { UInt8(truncatingIfNeeded: byteCount >> (8 * $0)) }
    return Array("RIFF".utf8) + size + Array("WEBP".utf8) + body
  }

  /// The colour profile (section 2.7.1.4), which the flags of the extended header announce; `nil` if there is none.
  static func profile(of input: PictureInput) -> [UInt8]? {
    guard var chunks = try? WebPChunks(file: ByteWindow(input)) else { return nil }
    while let chunk = try? chunks.next() {
      switch chunk.name {
      case "VP8X":
        let start = chunk.range.lowerBound + WebPChunks.chunkHeaderByteCount
        guard let flags = input.bytes(at: start, upTo: 1).first, flags & profileFlag != 0 else {
          return nil
        }
      // The profile comes before the pixels.
      case "VP8 ", "VP8L": return nil
      case "ICCP":
        let start = chunk.range.lowerBound + WebPChunks.chunkHeaderByteCount
        return input.bytes(at: start, upTo: chunk.payloadByteCount)
      default: break
      }
    }
    return nil
  }

  /// The chunks, each padded to an even number of bytes; `nil` when one is cut.
  private static func chunks(of file: [UInt8]) -> [WebPChunks.Chunk]? {
    guard file.starts(with: "RIFF".utf8), file.dropFirst(8).starts(with: "WEBP".utf8) else {
      return nil
    }
    // All bytes count, whatever the header says of their number.
    var reader = WebPChunks(
      ByteWindow(WholeBytes(file)), from: WebPChunks.fileHeaderByteCount, end: file.count)
    var chunks: [WebPChunks.Chunk] = []
    var end = WebPChunks.fileHeaderByteCount
    while end < file.count {
      guard let chunk = try? reader.next(), chunk.payloadByteCount > 0 else { return nil }
      end = chunk.range.upperBound
      guard end <= file.count else { return nil }
      chunks.append(chunk)
    }
    return chunks
  }
}
