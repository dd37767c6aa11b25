import CJXL

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
