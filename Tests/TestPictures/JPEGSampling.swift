import CJPEG
import Glibc

/// How many samples of chroma a JPEG has, in the usual notation.
package enum JPEGSampling: CaseIterable, Sendable {
  case yuv444, yuv422, yuv440, yuv420, yuv411

  /// The samples of luma for one of chroma.
  var factors: (columns: Int32, rows: Int32) {
    switch self {
    case .yuv444: (1, 1)
    case .yuv422: (2, 1)
    case .yuv440: (1, 2)
    case .yuv420: (2, 2)
    case .yuv411: (4, 1)
    }
  }
}

extension PictureMaker {
  /// The colours of a raster as JPEG of the highest quality.
  package func jpeg(
    of raster: Raster, sampling: JPEGSampling, orientation: Int = 1, isProgressive: Bool = false
  ) -> [UInt8] {
    let stored = raster.stored(forOrientation: orientation)
    let errors = UnsafeMutablePointer<jpeg_error_mgr>.allocate(capacity: 1)
    let encoder = UnsafeMutablePointer<jpeg_compress_struct>.allocate(capacity: 1)
    var bytes: UnsafeMutablePointer<UInt8>?
    var byteCount: UInt = 0
    defer {
      unsafe jpeg_destroy_compress(encoder)
      unsafe encoder.deallocate()
      unsafe errors.deallocate()
    }
    // An error ends the process; the input is the test's own.
    unsafe encoder.pointee.err = jpeg_std_error(errors)
    unsafe jpeg_CreateCompress(
      encoder, JPEG_LIB_VERSION, MemoryLayout<jpeg_compress_struct>.size)
    unsafe encoder.pointee.image_width = JDIMENSION(stored.width)
    unsafe encoder.pointee.image_height = JDIMENSION(stored.height)
    unsafe encoder.pointee.input_components = 4
    unsafe encoder.pointee.in_color_space = JCS_EXT_RGBX
    unsafe jpeg_set_defaults(encoder)
    unsafe jpeg_set_quality(encoder, 100, 1)
    unsafe encoder.pointee.comp_info[0].h_samp_factor = sampling.factors.columns
    unsafe encoder.pointee.comp_info[0].v_samp_factor = sampling.factors.rows
    if isProgressive { unsafe jpeg_simple_progression(encoder) }
    return unsafe Self.withPointers(&bytes, &byteCount) { bytes, byteCount in
      unsafe jpeg_mem_dest(encoder, bytes, byteCount)
      unsafe Self.write(stored, orientation: orientation, to: encoder)
      defer { unsafe free(bytes.pointee) }
      return unsafe Array(UnsafeBufferPointer(start: bytes.pointee, count: Int(byteCount.pointee)))
    }
  }

  private static func write(
    _ raster: Raster, orientation: Int, to encoder: UnsafeMutablePointer<jpeg_compress_struct>
  ) {
    unsafe jpeg_start_compress(encoder, 1)
    if orientation != 1 {
      let metadata = exif(orientation: orientation)
      unsafe jpeg_write_marker(encoder, JPEG_APP0 + 1, metadata, UInt32(metadata.count))
    }
    var samples = raster.bytes
    unsafe samples.withUnsafeMutableBufferPointer { samples in
      for y in 0..<raster.height {
        var row = unsafe samples.baseAddress.map { unsafe $0 + y * raster.width * 4 }
        unsafe jpeg_write_scanlines(encoder, &row, 1)
      }
    }
    unsafe jpeg_finish_compress(encoder)
  }

  private static func withPointers<Result>(
    _ bytes: inout UnsafeMutablePointer<UInt8>?, _ byteCount: inout UInt,
    _ body: (
      UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, UnsafeMutablePointer<UInt>
    ) -> Result
  ) -> Result {
    unsafe withUnsafeMutablePointer(to: &bytes) { bytes in
      unsafe withUnsafeMutablePointer(to: &byteCount) { byteCount in
        unsafe body(bytes, byteCount)
      }
    }
  }

  /// A TIFF directory with one entry, behind the name of the segment.
  private static func exif(orientation: Int) -> [UInt8] {
    let directory: [UInt8] = [0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, UInt8(orientation), 0, 0]
    return Array("Exif\0\0MM".utf8) + [0, 42, 0, 0, 0, 8] + directory + [0, 0, 0, 0]
  }
}
