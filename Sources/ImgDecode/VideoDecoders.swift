import CDAV1D
import CDE265
import Glibc
import ImgFacts

/// libdav1d over the samples of a track.
@safe final class AV1Decoder: VideoDecoder {
  private var decoder: OpaquePointer?
  private var samples: VideoSamples
  /// What the decoder has not taken yet of a sample.
  private var pending = unsafe Dav1dData()
  private var isDrained = false
  private let codePoints: ColourCodePoints?

  /// - Parameters:
  ///   - track: one of ``SequenceTrack/Codec/av1``.
  ///   - input: outlives the decoder.
  init(_ track: SequenceTrack, in input: PictureInput) throws(DecodeError) {
    samples = VideoSamples(track.samples, in: input)
    codePoints = track.codePoints
    var settings = unsafe Dav1dSettings()
    unsafe dav1d_default_settings(&settings)
    unsafe settings.n_threads = 1
    unsafe settings.max_frame_delay = 1
    unsafe settings.all_layers = 0
    unsafe settings.frame_size_limit = UInt32(clamping: track.width * track.height)
    unsafe settings.logger.callback = nil
    guard unsafe dav1d_open(&decoder, &settings) == 0 else { throw .outOfMemory }
  }

  deinit {
    unsafe dav1d_data_unref(&pending)
    unsafe dav1d_close(&decoder)
  }

  func next<Result: ~Copyable>(
    _ body: (VideoPicture) throws(DecodeError) -> Result
  ) throws(DecodeError) -> Result? {
    while true {
      var picture = unsafe Dav1dPicture()
      let status = unsafe dav1d_get_picture(decoder, &picture)
      if status == 0 {
        defer { unsafe dav1d_picture_unref(&picture) }
        return try body(unsafe videoPicture(picture))
      }
      guard status == -EAGAIN else { throw error(status) }
      if try sendMore() { continue }
      // The first call behind the last sample makes the decoder give what it keeps.
      guard !isDrained else { return nil }
      isDrained = true
    }
  }

  /// - Returns: `false` behind the last sample.
  private func sendMore() throws(DecodeError) -> Bool {
    if unsafe pending.sz == 0 {
      guard let sample = try samples.next() else { return false }
      guard let start = unsafe dav1d_data_create(&pending, sample.byteCount) else {
        throw .outOfMemory
      }
      unsafe sample.copy(to: start)
    }
    let status = unsafe dav1d_send_data(decoder, &pending)
    guard status == 0 || status == -EAGAIN else { throw error(status) }
    return true
  }

  private func videoPicture(_ picture: Dav1dPicture) throws(DecodeError) -> VideoPicture {
    let parameters = unsafe picture.p
    guard let luma = unsafe VideoPicture.Plane(picture.data.0, stride: picture.stride.0) else {
      throw .corrupt("a frame has no pixels")
    }
    var chroma: (VideoPicture.Plane, VideoPicture.Plane)?
    if parameters.layout != DAV1D_PIXEL_LAYOUT_I400,
      let blue = unsafe VideoPicture.Plane(picture.data.1, stride: picture.stride.1),
      let red = unsafe VideoPicture.Plane(picture.data.2, stride: picture.stride.1)
    {
      chroma = (blue, red)
    }
    return VideoPicture(
      size: .init(width: Int(parameters.w), height: Int(parameters.h)),
      bitsPerSample: Int(parameters.bpc), luma: luma, chroma: chroma,
      halvesColumns: parameters.layout != DAV1D_PIXEL_LAYOUT_I444,
      halvesRows: parameters.layout == DAV1D_PIXEL_LAYOUT_I420,
      codePoints: unsafe codePoints(of: picture.seq_hdr.pointee))
  }

  /// What the file says goes before what the stream says (ISO/IEC 14496-12 section 12.1.5).
  private func codePoints(of header: Dav1dSequenceHeader) -> ColourCodePoints {
    codePoints
      ?? ColourCodePoints(
        primaries: Int(header.pri.rawValue), transfer: Int(header.trc.rawValue),
        matrix: Int(header.mtrx.rawValue), isFullRange: header.color_range != 0)
  }

  private func error(_ status: CInt) -> DecodeError {
    status == -ENOMEM ? .outOfMemory : .corrupt("libdav1d finds a frame damaged")
  }
}

/// libde265 over the samples of a track.
@safe final class HEVCDecoder: VideoDecoder {
  private let decoder: UnsafeMutableRawPointer
  private var samples: VideoSamples
  private let lengthByteCount: Int
  private let codePoints: ColourCodePoints?
  private var isFlushed = false
  /// Why the next sample cannot be decoded. The pictures before it come first: one is complete when
  /// the decoder sees what follows it.
  private var damage: DecodeError?

  /// - Parameter input: outlives the decoder.
  init(
    _ track: SequenceTrack, _ configuration: HEVCConfiguration, in input: PictureInput
  ) throws(DecodeError) {
    guard let decoder = unsafe de265_new_decoder() else { throw .outOfMemory }
    unsafe self.decoder = decoder
    samples = VideoSamples(track.samples, in: input)
    lengthByteCount = configuration.lengthByteCount
    codePoints = track.codePoints
    for unit in configuration.parameterSets {
      try require(unsafe de265_push_NAL(decoder, unit, CInt(unit.count), 0, nil))
    }
  }

  deinit {
    _ = unsafe de265_free_decoder(decoder)
  }

  func next<Result: ~Copyable>(
    _ body: (VideoPicture) throws(DecodeError) -> Result
  ) throws(DecodeError) -> Result? {
    while true {
      if let picture = unsafe de265_get_next_picture(decoder) {
        return try body(unsafe videoPicture(picture))
      }
      guard try advance() else { return nil }
    }
  }

  /// Does one step towards the next picture.
  ///
  /// - Returns: `false` when there is none.
  private func advance() throws(DecodeError) -> Bool {
    var hasMore: CInt = 0
    let status = unsafe de265_decode(decoder, &hasMore)
    try checkWarnings()
    switch status {
    case DE265_OK where hasMore != 0: return true
    case DE265_OK, DE265_ERROR_WAITING_FOR_INPUT_DATA:
      guard isFlushed else {
        try sendMore()
        return true
      }
      if unsafe de265_peek_next_picture(decoder) != nil { return true }
      if let damage { throw damage }
      return false
    default: throw error(status)
    }
  }

  /// Hands over the units of the next sample, or the end.
  private func sendMore() throws(DecodeError) {
    do throws(DecodeError) {
      guard let units = try nextUnits() else { return try flush() }
      for unit in units {
        try require(
          unsafe de265_push_NAL(decoder, unit.buffer.baseAddress, CInt(unit.byteCount), 0, nil))
      }
    } catch {
      damage = error
      try flush()
    }
  }

  private func flush() throws(DecodeError) {
    isFlushed = true
    try require(unsafe de265_flush_data(decoder))
  }

  /// The units of the next sample, each behind its length.
  ///
  /// - Returns: `nil` behind the last sample.
  private func nextUnits() throws(DecodeError) -> [PictureInput]? {
    guard let sample = try samples.next() else { return nil }
    var (units, offset) = ([PictureInput](), 0)
    while offset < sample.byteCount {
      let length = sample.bytes(at: offset, upTo: lengthByteCount).reduce(0) { $0 << 8 | Int($1) }
      offset += lengthByteCount
      guard let unit = sample.part(at: offset, byteCount: length) else {
        throw .corrupt("a unit of a frame ends behind it")
      }
      units.append(unit)
      offset += length
    }
    return units
  }

  private func videoPicture(_ picture: OpaquePointer) throws(DecodeError) -> VideoPicture {
    let kind = unsafe de265_get_chroma_format(picture)
    let plane = { (channel: CInt) -> VideoPicture.Plane? in
      var stride: CInt = 0
      let start = unsafe de265_get_image_plane(picture, channel, &stride)
      return unsafe VideoPicture.Plane(start, stride: Int(stride))
    }
    let bits = unsafe de265_get_bits_per_pixel(picture, 0)
    guard let luma = plane(0), (8...16).contains(bits) else {
      throw .corrupt("a frame has no pixels")
    }
    var chroma: (VideoPicture.Plane, VideoPicture.Plane)?
    if kind != de265_chroma_mono, let blue = plane(1), let red = plane(2) {
      guard unsafe de265_get_bits_per_pixel(picture, 1) == bits else {
        throw .unsupported("HEVC whose luma and chroma differ in depth")
      }
      chroma = (blue, red)
    }
    return VideoPicture(
      size: .init(
        width: Int(unsafe de265_get_image_width(picture, 0)),
        height: Int(unsafe de265_get_image_height(picture, 0))),
      bitsPerSample: Int(bits), luma: luma, chroma: chroma,
      halvesColumns: kind != de265_chroma_444, halvesRows: kind == de265_chroma_420,
      codePoints: unsafe codePoints(of: picture))
  }

  /// What the file says goes before what the stream says (ISO/IEC 14496-12 section 12.1.5).
  private func codePoints(of picture: OpaquePointer) -> ColourCodePoints {
    codePoints
      ?? ColourCodePoints(
        primaries: Int(unsafe de265_get_image_colour_primaries(picture)),
        transfer: Int(unsafe de265_get_image_transfer_characteristics(picture)),
        matrix: Int(unsafe de265_get_image_matrix_coefficients(picture)),
        isFullRange: unsafe de265_get_image_full_range_flag(picture) != 0)
  }

  // MARK: - Errors

  /// Remarks on how a stream is written, which cost no pixel.
  private static let harmless = [
    DE265_WARNING_NO_WPP_CANNOT_USE_MULTITHREADING, DE265_WARNING_WARNING_BUFFER_FULL,
    DE265_WARNING_NUMBER_OF_THREADS_LIMITED_TO_MAXIMUM, DE265_WARNING_SPS_MISSING_CANNOT_DECODE_SEI,
  ]

  /// The decoder goes on behind damage, with pixels that it made up.
  private func checkWarnings() throws(DecodeError) {
    while case let warning = unsafe de265_get_warning(decoder), warning != DE265_OK {
      guard Self.harmless.contains(warning) else { throw error(warning) }
    }
  }

  private func require(_ status: de265_error) throws(DecodeError) {
    guard status == DE265_OK else { throw error(status) }
  }

  private func error(_ status: de265_error) -> DecodeError {
    if status == DE265_ERROR_OUT_OF_MEMORY { return .outOfMemory }
    if status == DE265_ERROR_NOT_IMPLEMENTED_YET {
      return .unsupported("a tool of this HEVC stream")
    }
    return .corrupt("libde265: \(unsafe String(cString: de265_get_error_text(status)))")
  }
}
