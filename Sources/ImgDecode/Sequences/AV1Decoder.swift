import CDAV1D
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

@available(*, unavailable)
extension AV1Decoder: Sendable {}
