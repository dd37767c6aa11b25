import ImgFacts
import ImgModel

/// A picture whose header was read and whose pixels wait to be asked for. Used by one thread.
protocol OpenPicture {
  var header: PictureHeader { get }

  /// The first frame as it is stored, not turned upright, in the colours of the file.
  ///
  /// - Parameter size: what it will be scaled to. A decoder that can makes it as much smaller as
  ///   that allows; only a drawing becomes larger.
  /// - Throws: also when the pixels show damage, which some decoders find only as they are read.
  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image

  /// A smaller picture of the same that the file holds beside its own, opened; `nil` if there is none
  /// that shows the whole picture.
  func embeddedPicture() -> (any OpenPicture)?
  /// Whether that is known to look like the picture, because the format wants it so. Programs that
  /// change a JPEG often leave the thumbnail in its EXIF data as it was.
  var trustsEmbeddedPicture: Bool { get }

  /// An image with the profile and the metadata of the file, whatever its pixels; `nil` for formats
  /// that have none.
  func metadataImage() throws(VipsError) -> Image?
  /// What the file says of its author and of rights; `nil` for formats that say nothing.
  func copyrightNotice() -> CopyrightNotice?

  /// What an error means that came up while the pixels of the first frame were asked for. Where they are
  /// decoded already, the picture has nothing to do with it.
  func reason(for error: VipsError) -> DecodeError
}

extension OpenPicture {
  func embeddedPicture() -> (any OpenPicture)? { nil }
  var trustsEmbeddedPicture: Bool { false }
  func metadataImage() throws(VipsError) -> Image? { nil }
  func copyrightNotice() -> CopyrightNotice? { nil }
  func reason(for error: VipsError) -> DecodeError { DecodeError(error) }

  /// Has libvips work on the pixels.
  func decoding<Result: ~Copyable>(
    _ body: () throws(VipsError) -> Result
  ) throws(DecodeError) -> Result {
    do throws(VipsError) {
      return try body()
    } catch {
      throw reason(for: error)
    }
  }
}

/// What a header says, before a pixel was decoded.
struct PictureHeader {
  /// Pixels of the first frame as stored.
  let stored: ThumbnailGeometry.Size
  /// How the stored pixels are turned and mirrored: 1…8 as in EXIF.
  let orientation: Int
  /// Frames or pages in the file.
  let frames: Int
  /// The size that is decoded, if ``stored`` is a part of it.
  var uncropped: ThumbnailGeometry.Size?
  /// Pixels of all pictures inside an SVG.
  var embeddedPixelCount: Int64 = 0
  /// Whether the first frame has samples of more than 8 bits.
  var hasMoreThanEightBits = false
  /// Whether it is a drawing (SVG), which has as much detail in every size.
  var isDrawing = false

  /// The size as seen.
  var upright: ThumbnailGeometry.Size { oriented(stored) }

  /// An upright size as the picture stores it, and the other way round.
  func oriented(_ size: ThumbnailGeometry.Size) -> ThumbnailGeometry.Size {
    // The orientations 5 to 8 put the stored rows upright.
    orientation > 4 ? .init(width: size.height, height: size.width) : size
  }
}

extension ThumbnailGeometry {
  /// How large a picture with that header becomes.
  init(of header: PictureHeader, as variant: Variant) {
    self.init(source: header.upright, isDrawing: header.isDrawing, variant: variant)
  }
}

/// The bytes of a picture, for the time of one decode. They are decoded where they lie.
@safe struct PictureInput {
  let buffer: UnsafeBufferPointer<UInt8>

  /// - Parameter buffer: stays valid and unchanged while this value is in use.
  init(_ buffer: UnsafeBufferPointer<UInt8>) {
    unsafe self.buffer = buffer
  }

  var byteCount: Int { unsafe buffer.count }

  /// The bytes behind the first so many; `nil` if there are none.
  func dropping(_ byteCount: Int) -> PictureInput? {
    guard unsafe byteCount < buffer.count else { return nil }
    return unsafe PictureInput(UnsafeBufferPointer(rebasing: buffer[byteCount...]))
  }

  /// A part; `nil` if it is empty or does not lie within the bytes.
  func part(at offset: Int, byteCount: Int) -> PictureInput? {
    guard offset >= 0, byteCount > 0, offset < self.byteCount,
      byteCount <= self.byteCount - offset
    else { return nil }
    return unsafe PictureInput(
      UnsafeBufferPointer(rebasing: buffer[offset..<offset + byteCount]))
  }

  /// Copies all bytes to memory that has room for them.
  func copy(to start: UnsafeMutablePointer<UInt8>) {
    guard let first = unsafe buffer.baseAddress else { return }
    unsafe start.update(from: first, count: buffer.count)
  }

  /// At most so many bytes from an offset on; fewer at the end.
  func bytes(at offset: Int, upTo byteCount: Int) -> [UInt8] {
    guard unsafe offset < buffer.count else { return [] }
    return unsafe Array(buffer[offset..<min(buffer.count, offset + byteCount)])
  }
}

extension PictureInput: ByteSource {
  var knownByteCount: Int? { byteCount }

  func bytes(in range: Range<Int>) -> [UInt8]? {
    guard range.lowerBound >= 0, range.upperBound <= byteCount else { return nil }
    return unsafe Array(buffer[range])
  }
}

extension CopyrightNotice {
  /// That of a file; `nil` also for one whose metadata cannot be read.
  init?(in input: PictureInput) {
    guard let facts = try? PictureFacts.reading(input, .all) else { return nil }
    self.init(facts)
  }
}

/// Why a picture cannot be decoded, with what the library says of it, for people.
enum DecodeError: Error {
  /// Its bytes are not what the format demands, or some are missing.
  case corrupt(String)
  /// No damage was found, and a feature of it is not decoded.
  case unsupported(String)
  /// It is an animation, and at most one of its frames can be decoded.
  case unsupportedAnimation(String)
  /// It has no frame of that number.
  case noFrame(Int, count: Int)
  /// It needs more memory than the process may have.
  case outOfMemory
  /// It was decoded, and its thumbnail cannot be encoded.
  case unencodable(String)
  /// It is no picture, or beyond a limit.
  case refused(Failure)

  static func refused(_ code: Failure.Code, detail: String) -> DecodeError {
    .refused(Failure(stage: .decode, code: code, detail: detail))
  }

  func failure(within limits: Limits) -> Failure {
    switch self {
    case .corrupt(let detail):
      Failure(stage: .decode, code: .corruptImage, detail: detail)
    case .unsupported(let feature):
      Failure(stage: .decode, code: .unsupportedFormat, detail: "\(feature) is not decoded")
    case .unsupportedAnimation(let feature):
      Failure(
        stage: .decode, code: .unsupportedAnimation,
        detail: "\(feature) is not decoded")
    case .noFrame(let number, let count):
      Failure(
        stage: .decode, code: .frameOutOfRange,
        detail: "frame \(number) does not exist: the picture has "
          + (count == 1 ? "1 frame, numbered 0" : "\(count) frames, numbered 0 to \(count - 1)"))
    case .outOfMemory:
      .outOfMemory(decoderMemory: limits.decoderMemoryByteCount)
    case .unencodable(let detail):
      Failure(stage: .decode, code: .internal, detail: detail)
    case .refused(let failure): failure
    }
  }
}

extension DecodeError {
  init(_ error: FactsError) {
    self =
      switch error {
      case .needsBytes, .truncated: .corrupt("the file ends before its last frame does")
      case .invalid(let reason), .notAnImage(let reason): .corrupt(reason)
      case .unsupported(let feature): .unsupported(feature)
      }
  }

  init(_ error: VipsError) {
    self = error.isOutOfMemory ? .outOfMemory : .corrupt(error.description)
  }
}

/// How much of a picture a decode must read.
enum DecodeExtent {
  /// All of it. Damage is an error.
  case whole
  /// What can be read of a damaged picture. It is an error if that is nothing. Memory that the
  /// decoder did not write never shows: an earlier picture may have used it.
  case readablePart
}

extension ImageFormat {
  /// Whether its decoder can read a part of a damaged picture. The others decode a frame as a whole
  /// or not at all.
  var isDecodedInPart: Bool {
    switch self {
    case .jpeg, .png, .gif, .tiff, .bmp, .ico, .pnm: true
    case .webp, .heif, .avif, .jxl, .svg, .jp2: false
    }
  }
}

/// A picture of one frame that was decoded.
final class FramePicture: OpenPicture {
  let header: PictureHeader
  private let frame: Image
  /// The file with all frames.
  private let file: (any OpenPicture)?

  /// An upright picture of its own.
  init(_ frame: consuming Image) {
    header = PictureHeader(
      stored: frame.size, orientation: 1, frames: 1,
      hasMoreThanEightBits: frame.hasMoreThanEightBits)
    self.frame = frame
    file = nil
  }

  /// A frame of an animation, as it is stored.
  init(_ frame: consuming Image, of file: any OpenPicture) {
    var header = file.header
    header.hasMoreThanEightBits = frame.hasMoreThanEightBits
    self.header = header
    self.frame = frame
    self.file = file
  }

  func firstFrame(for size: ThumbnailGeometry.Size) -> Image { frame.retained() }

  func metadataImage() throws(VipsError) -> Image? { try file?.metadataImage() }

  func copyrightNotice() -> CopyrightNotice? { file?.copyrightNotice() }
}

/// How stored pixels become upright (CIPA DC-008, "Orientation"): their sides are reversed, then rows
/// and columns change places.
struct Orientation {
  /// Whether the first column is the last one of the stored picture.
  let reversesColumns: Bool
  let reversesRows: Bool
  let isTransposed: Bool

  /// - Parameter value: 1…8 as in EXIF.
  init(_ value: Int) {
    reversesColumns = [2, 3, 7, 8].contains(value)
    reversesRows = [3, 4, 6, 7].contains(value)
    isTransposed = value > 4
  }
}
