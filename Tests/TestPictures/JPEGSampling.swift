import CJPEG
import Glibc
import ImgDecode

/// How many samples of chroma a JPEG has, in the usual notation.
package enum JPEGSampling: CaseIterable, Sendable {
  case yuv444, yuv422, yuv440, yuv420, yuv411, yuv410

  /// The samples of luma for one of chroma.
  var factors: (columns: Int32, rows: Int32) {
    switch self {
    case .yuv444: (1, 1)
    case .yuv422: (2, 1)
    case .yuv440: (1, 2)
    case .yuv420: (2, 2)
    case .yuv411: (4, 1)
    case .yuv410: (4, 2)
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
    unsafe jpeg_CreateCompress(encoder, JPEG_LIB_VERSION, MemoryLayout<jpeg_compress_struct>.size)
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

/// The segments of a JPEG (ITU-T T.81 annex B).
package enum JPEGSegments {
  /// - Returns: the JPEG with one more segment, directly behind its first marker.
  package static func insert(_ data: [UInt8], marker: UInt8, into jpeg: [UInt8]) -> [UInt8] {
    let byteCount = data.count + 2
    precondition(byteCount <= 0xFFFF, "a segment has at most 65,535 bytes")
    let head = [0xFF, marker, UInt8(byteCount >> 8), UInt8(byteCount & 0xFF)]
    return Array(jpeg.prefix(2)) + head + data + jpeg.dropFirst(2)
  }
}

/// EXIF metadata of a JPEG (CIPA DC-008 section 4.6).
package enum EXIFSegment {
  /// - Returns: the JPEG with an orientation, 1…8.
  package static func insert(orientation: Int, into jpeg: [UInt8]) -> [UInt8] {
    insert(
      [0, 1, 0x01, 0x12, 0, 3] + bytes(1) + [0, UInt8(orientation), 0, 0] + bytes(0), into: jpeg)
  }

  /// - Returns: the JPEG with a second directory, which holds the thumbnail, another JPEG.
  package static func insert(thumbnail: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
    // An empty first directory at 8, the second at 14 with two entries.
    let offset = 14 + 2 + 2 * 12 + 4
    let directories: [UInt8] =
      [0, 0] + bytes(14) + [0, 2]
      + [0x02, 0x01, 0, 4] + bytes(1) + bytes(offset)
      + [0x02, 0x02, 0, 4] + bytes(1) + bytes(thumbnail.count) + bytes(0)
    return insert(directories + thumbnail, into: jpeg)
  }

  /// - Parameters:
  ///   - artist: in ASCII, of more than three characters.
  ///   - copyright: the same.
  /// - Returns: the JPEG with the name of its author, with rights, and with the program that made it.
  package static func insert(artist: String, copyright: String, into jpeg: [UInt8]) -> [UInt8] {
    let tags: [(UInt8, UInt8, String)] = [
      (0x01, 0x31, "Some program"), (0x01, 0x3B, artist), (0x82, 0x98, copyright),
    ]
    var (entries, values): ([UInt8], [UInt8]) = ([0, UInt8(tags.count)], [])
    let start = 8 + 2 + tags.count * 12 + 4
    for (high, low, text) in tags {
      entries +=
        [high, low, 0, 2] + bytes(text.utf8.count + 1) + bytes(start + values.count)
      values += Array(text.utf8) + [0]
    }
    return insert(entries + bytes(0) + values, into: jpeg)
  }

  /// - Parameter directories: those of a big-endian TIFF, from offset 8 on.
  private static func insert(_ directories: [UInt8], into jpeg: [UInt8]) -> [UInt8] {
    let tiff = [0x4D, 0x4D, 0, 42] + bytes(8) + directories
    return JPEGSegments.insert(Array("Exif\0\0".utf8) + tiff, marker: 0xE1, into: jpeg)
  }

  private static func bytes(_ number: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }
}

/// A picture that shows itself coarsely before its end, or its first rows.
package struct ArrivingPicture: Sendable {
  package enum Form: String, CaseIterable, Sendable {
    case progressiveJPEG, baselineJPEG, interlacedPNG, interlacedGIF

    /// Whether it shows its first rows alone.
    package var showsRows: Bool { self == .baselineJPEG }
  }

  package let bytes: [UInt8]
  /// Byte counts at which a preview shows more than at the one before.
  package let steps: [Int]

  package init(_ form: Form, width: Int = 320, height: Int = 240) throws {
    let runtime = try VipsRuntime.start()
    let maker = PictureMaker(runtime: runtime)
    let bytes: [UInt8]
    switch form {
    case .progressiveJPEG:
      bytes = try maker.scene(width: width, height: height, format: .progressiveJPEG)
      // The first scan is complete at the second one's marker, and so on.
      let scans = bytes.indices.dropLast().filter { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xDA }
      steps = [scans[1], scans[4], scans[7]].map { $0 + 2 }
    case .baselineJPEG:
      bytes = try maker.scene(width: width, height: height, format: .jpeg)
      steps = Self.parts(of: bytes)
    case .interlacedPNG:
      bytes = try maker.scene(width: width, height: height, format: .interlacedPNG)
      steps = Self.parts(of: bytes)
    case .interlacedGIF:
      let scene = try PictureReader(runtime: runtime).raster(
        of: maker.scene(width: width, height: height, format: .png))
      bytes = InterlacedGIF.file(scene)
      steps = Self.parts(of: bytes)
    }
    self.bytes = bytes
  }

  private static func parts(of bytes: [UInt8]) -> [Int] {
    [25, 45, 70].map { bytes.count * $0 / 100 }
  }

  /// The first bytes, up to one of the steps.
  package func part(_ step: Int) -> [UInt8] { Array(bytes[..<steps[step]]) }
}

extension Raster {
  /// The mean absolute difference of the three colours of all pixels.
  package func meanDifference(from other: Raster) -> Double {
    precondition((width, height) == (other.width, other.height), "pictures of one size")
    var sum = 0
    for index in bytes.indices where index % 4 != 3 {
      sum += abs(Int(bytes[index]) - Int(other.bytes[index]))
    }
    return Double(sum) / Double(width * height * 3)
  }

  package var isOpaque: Bool {
    stride(from: 3, to: bytes.count, by: 4).allSatisfy { bytes[$0] == 255 }
  }
}
