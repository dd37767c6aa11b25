import CJXL
import ImgFacts

/// Writes animated PNGs (PNG Specification, third edition, section 11.3.6).
package struct APNGWriter: Sendable {
  package enum Disposal: UInt8, Sendable { case none, background, previous }
  package enum Blending: UInt8, Sendable { case source, over }

  package struct Frame: Sendable {
    /// Its pixels, as a PNG of the same kind as the other frames.
    let png: [UInt8]
    let left: Int
    let top: Int
    /// Hundredths of a second.
    let delay: Int
    let disposal: Disposal
    let blending: Blending

    package init(
      _ png: [UInt8], left: Int = 0, top: Int = 0, delay: Int = 10, disposal: Disposal = .none,
      blending: Blending = .source
    ) {
      self.png = png
      self.left = left
      self.top = top
      self.delay = delay
      self.disposal = disposal
      self.blending = blending
    }
  }

  /// How often it plays; 0 means forever.
  private let loopCount: Int
  private let frames: [Frame]
  /// What readers show that know of no animation; `nil` for the first frame.
  private let defaultImage: [UInt8]?
  private var sequenceNumber = 0
  private var chunks: [PNGChunk] = []

  package static func chunks(
    _ frames: [Frame], loopCount: Int = 0, defaultImage: [UInt8]? = nil
  ) -> [PNGChunk] {
    var writer = APNGWriter(frames: frames, loopCount: loopCount, defaultImage: defaultImage)
    writer.write()
    return writer.chunks
  }

  package static func file(
    _ frames: [Frame], loopCount: Int = 0, defaultImage: [UInt8]? = nil
  ) -> [UInt8] {
    PNGChunk.file(chunks(frames, loopCount: loopCount, defaultImage: defaultImage))
  }

  private init(frames: [Frame], loopCount: Int, defaultImage: [UInt8]?) {
    (self.frames, self.loopCount, self.defaultImage) = (frames, loopCount, defaultImage)
  }

  private mutating func write() {
    for chunk in PNGChunk.chunks(of: defaultImage ?? frames[0].png) {
      switch chunk.name {
      case "IEND":
        for frame in frames.dropFirst(defaultImage == nil ? 1 : 0) {
          writeControl(of: frame)
          for data in Self.pixels(of: frame.png) {
            writeNumbered("fdAT", data)
          }
        }
      case "IDAT" where !chunks.contains { $0.name == "acTL" }:
        chunks.append(
          PNGChunk("acTL", PNGChunk.bigEndian(frames.count) + PNGChunk.bigEndian(loopCount)))
        if defaultImage == nil { writeControl(of: frames[0]) }
      default: break
      }
      chunks.append(chunk)
    }
  }

  private mutating func writeControl(of frame: Frame) {
    // The width and the height begin the header.
    let size = Array(PNGChunk.chunks(of: frame.png)[0].data.prefix(8))
    writeNumbered(
      "fcTL",
      size + PNGChunk.bigEndian(frame.left) + PNGChunk.bigEndian(frame.top)
        + PNGChunk.bigEndian(frame.delay, byteCount: 2) + PNGChunk.bigEndian(100, byteCount: 2)
        + [frame.disposal.rawValue, frame.blending.rawValue])
  }

  private mutating func writeNumbered(_ name: String, _ data: [UInt8]) {
    chunks.append(PNGChunk(name, PNGChunk.bigEndian(sequenceNumber) + data))
    sequenceNumber += 1
  }

  /// The data of the IDAT chunks; in two chunks at least, as a reader must join them.
  private static func pixels(of png: [UInt8]) -> [[UInt8]] {
    let data = PNGChunk.chunks(of: png).filter { $0.name == "IDAT" }.flatMap(\.data)
    return [Array(data.prefix(data.count / 2)), Array(data.dropFirst(data.count / 2))]
  }
}

/// A chunk of a PNG file (PNG Specification, third edition, section 5.3).
package struct PNGChunk: Sendable {
  package var name: String
  package var data: [UInt8]

  private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  package init(_ name: String, _ data: [UInt8]) {
    self.name = name
    self.data = data
  }

  /// A file of chunks.
  package static func file(_ chunks: [PNGChunk]) -> [UInt8] {
    signature + chunks.flatMap(\.bytes)
  }

  /// The chunks of a whole file.
  package static func chunks(of file: [UInt8]) -> [PNGChunk] {
    var chunks: [PNGChunk] = []
    var offset = signature.count
    while offset < file.count {
      let count = file[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
      let name = String(decoding: file[offset + 4..<offset + 8], as: UTF8.self)
      chunks.append(PNGChunk(name, Array(file[offset + 8..<offset + 8 + count])))
      offset += 12 + count
    }
    return chunks
  }

  private var bytes: [UInt8] {
    let named = Array(name.utf8) + data
    var sum = CRC32()
    sum.add(named.span)
    return Self.bigEndian(data.count) + named + Self.bigEndian(Int(sum.value))
  }

  package static func bigEndian(_ number: Int, byteCount: Int = 4) -> [UInt8] {
    (0..<byteCount).map { UInt8(truncatingIfNeeded: number >> (8 * (byteCount - 1 - $0))) }
  }
}

/// Writes animated JPEG XL files.
@safe package struct JXLWriter {
  package struct Frame: Sendable {
    let raster: Raster
    let ticks: UInt32

    package init(_ raster: Raster, ticks: UInt32 = 100) {
      (self.raster, self.ticks) = (raster, ticks)
    }
  }

  /// What all frames have in common.
  package struct Settings: Sendable {
    /// How often it plays; 0 means forever.
    package var loopCount: UInt32 = 0
    package var ticksPerSecond: UInt32 = 1_000
    package var hasAlpha = false
    package var isGray = false
    /// Whether the numbers are those of Display P3 and not of sRGB.
    package var isDisplayP3 = false
    package var isLossless = true
    package var bitsPerSample: UInt32 = 8
    /// How the pixels are to be turned, 1…8 as in EXIF. They are stored as they are.
    package var orientation: UInt32 = 1

    package init() {}

    fileprivate var bandCount: UInt32 { (isGray ? 1 : 3) + (hasAlpha ? 1 : 0) }
  }

  private let encoder: OpaquePointer
  private let settings: Settings

  /// - Parameter frames: of one size.
  package static func file(_ frames: [Frame], _ settings: Settings = Settings()) -> [UInt8] {
    guard let encoder = unsafe JxlEncoderCreate(nil) else { preconditionFailure("no memory") }
    defer { unsafe JxlEncoderDestroy(encoder) }
    let writer = unsafe JXLWriter(encoder: encoder, settings: settings)
    writer.writeHeader(width: frames[0].raster.width, height: frames[0].raster.height)
    for frame in frames { writer.write(frame) }
    unsafe JxlEncoderCloseInput(encoder)
    return writer.output()
  }

  private func writeHeader(width: Int, height: Int) {
    var info = JxlBasicInfo()
    unsafe JxlEncoderInitBasicInfo(&info)
    (info.xsize, info.ysize) = (UInt32(width), UInt32(height))
    info.uses_original_profile = settings.isLossless ? JXL_TRUE : JXL_FALSE
    info.num_color_channels = settings.isGray ? 1 : 3
    info.bits_per_sample = settings.bitsPerSample
    info.orientation = JxlOrientation(settings.orientation)
    if settings.hasAlpha { (info.num_extra_channels, info.alpha_bits) = (1, 8) }
    info.have_animation = JXL_TRUE
    info.animation.num_loops = settings.loopCount
    info.animation.tps_numerator = settings.ticksPerSecond
    info.animation.tps_denominator = 1
    require(unsafe JxlEncoderSetBasicInfo(encoder, &info))
    var colours = JxlColorEncoding()
    unsafe JxlColorEncodingSetToSRGB(&colours, settings.isGray ? JXL_TRUE : JXL_FALSE)
    if settings.isDisplayP3 { colours.primaries = JXL_PRIMARIES_P3 }
    require(unsafe JxlEncoderSetColorEncoding(encoder, &colours))
  }

  private func write(_ frame: Frame) {
    guard let options = unsafe JxlEncoderFrameSettingsCreate(encoder, nil) else {
      preconditionFailure("no memory")
    }
    if settings.isLossless { require(unsafe JxlEncoderSetFrameLossless(options, JXL_TRUE)) }
    var header = JxlFrameHeader()
    unsafe JxlEncoderInitFrameHeader(&header)
    header.duration = frame.ticks
    require(unsafe JxlEncoderSetFrameHeader(options, &header))
    var format = JxlPixelFormat(
      num_channels: settings.bandCount, data_type: JXL_TYPE_UINT8, endianness: JXL_NATIVE_ENDIAN,
      align: 0)
    let samples = samples(of: frame.raster)
    require(unsafe JxlEncoderAddImageFrame(options, &format, samples, samples.count))
  }

  /// The bands that the file has, of the four that a raster has.
  private func samples(of raster: Raster) -> [UInt8] {
    raster.bytes.indices.filter { index in
      switch index % 4 {
      case 0: true
      case 3: settings.hasAlpha
      default: !settings.isGray
      }
    }.map { raster.bytes[$0] }
  }

  private func output() -> [UInt8] {
    var file: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    var status = JXL_ENC_NEED_MORE_OUTPUT
    while status == JXL_ENC_NEED_MORE_OUTPUT {
      unsafe part.withUnsafeMutableBufferPointer { part in
        var next = part.baseAddress
        var freeByteCount = part.count
        status = unsafe JxlEncoderProcessOutput(encoder, &next, &freeByteCount)
        unsafe file.append(contentsOf: part.dropLast(freeByteCount))
      }
    }
    require(status)
    return file
  }

  /// The input is the test's own.
  private func require(_ status: JxlEncoderStatus) {
    precondition(status == JXL_ENC_SUCCESS, "libjxl writes it")
  }
}

/// Writes a GIF of one frame whose rows come in four passes (GIF89a appendix E). libvips writes none. The
/// pixels are not compressed.
package enum InterlacedGIF {
  /// Codes that fit between two clear codes, so that none is longer than 9 bits.
  private static let runCount = 250
  private static let passes = [(0, 8), (4, 8), (2, 4), (1, 2)]

  /// Pixels that are not opaque are left out.
  package static func file(_ raster: Raster) -> [UInt8] {
    let size = number(raster.width) + number(raster.height)
    var file = Array("GIF89a".utf8)
    file += size + [0xF7, 0, 0]
    file += palette
    file += control
    file += [0x2C, 0, 0, 0, 0]
    file += size + [interlaced, 8]
    file += subBlocks(of: data(of: raster))
    return file + [0, 0x3B]
  }

  /// 3 bits of red and green and 2 of blue.
  private static var palette: [UInt8] {
    var palette: [UInt8] = []
    for index in 0..<256 {
      palette.append(UInt8(index >> 5) * 36)
      palette.append(UInt8(index >> 2 & 7) * 36)
      palette.append(UInt8(index & 3) * 85)
    }
    return palette
  }

  private static let transparentIndex = 255
  private static let interlaced: UInt8 = 0x40
  /// The last colour is not shown.
  private static let control: [UInt8] = [0x21, 0xF9, 4, 1, 0, 0, 255, 0]

  private static func data(of raster: Raster) -> [UInt8] {
    var writer = BitWriter()
    var count = 0
    for (first, step) in passes {
      for y in stride(from: first, to: raster.height, by: step) {
        for x in 0..<raster.width {
          if count % runCount == 0 { writer.write(256) }
          writer.write(index(of: raster[x, y]))
          count += 1
        }
      }
    }
    writer.write(257)
    return writer.finished()
  }

  private static func index(of pixel: Raster.Pixel) -> Int {
    guard pixel.alpha == 255 else { return transparentIndex }
    let green = Int(pixel.green >> 5) << 2
    let index = Int(pixel.red & 0xE0) | green | Int(pixel.blue >> 6)
    return min(index, transparentIndex - 1)
  }

  private static func subBlocks(of data: [UInt8]) -> [UInt8] {
    var blocks: [UInt8] = []
    for start in stride(from: 0, to: data.count, by: 255) {
      let part = data[start..<min(start + 255, data.count)]
      blocks.append(UInt8(part.count))
      blocks += part
    }
    return blocks
  }

  private static func number(_ value: Int) -> [UInt8] { [UInt8(value & 0xFF), UInt8(value >> 8)] }

  /// Codes of 9 bits, the lowest bit first.
  private struct BitWriter {
    private var bytes: [UInt8] = []
    private var bits = 0
    private var bitCount = 0

    mutating func write(_ code: Int) {
      bits |= code << bitCount
      bitCount += 9
      while bitCount >= 8 {
        bytes.append(UInt8(bits & 0xFF))
        bits >>= 8
        bitCount -= 8
      }
    }

    func finished() -> [UInt8] { bitCount > 0 ? bytes + [UInt8(bits & 0xFF)] : bytes }
  }
}
