import ImgModel

/// A JPEG or PNG inside an SVG.
struct EmbeddedPicture {
  let pixelCount: Int64
  private let bytes: [UInt8]
  private let format: ImageFormat

  /// Reads the header.
  init(_ bytes: [UInt8], in format: ImageFormat) throws(DecodeError) {
    self.bytes = bytes
    self.format = format
    let size = try Self.withPicture(bytes, in: format) { (picture) throws(DecodeError) in
      picture.header.stored
    }
    pixelCount = Int64(size.width * size.height)
  }

  /// Decodes it to a single pixel, which shows whether it is whole.
  func check() throws(DecodeError) {
    try Self.withPicture(bytes, in: format) { (picture) throws(DecodeError) in
      let size = ThumbnailGeometry.Size(width: 1, height: 1)
      let frame = try picture.firstFrame(for: size)
      do throws(VipsError) {
        _ = try frame.preparedForScaling().scaled(to: size).inMemory()
      } catch {
        throw picture.reason(for: error)
      }
    }
  }

  private static func withPicture<Result>(
    _ bytes: [UInt8], in format: ImageFormat,
    _ body: (any OpenPicture) throws(DecodeError) -> Result
  ) throws(DecodeError) -> Result {
    do throws(DecodeError) {
      return try unsafe bytes.withUnsafeBufferPointer { (buffer) throws(DecodeError) in
        let input = unsafe PictureInput(buffer)
        return try body(
          format == .jpeg ? JPEGPicture(input, .whole) : VipsPicture(input, in: format, .whole))
      }
    } catch {
      guard case .corrupt(let reason) = error else { throw error }
      throw .corrupt("a picture inside it: \(reason)")
    }
  }
}
