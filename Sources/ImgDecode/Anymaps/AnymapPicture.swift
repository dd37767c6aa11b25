import CVips
import ImgFacts

/// A portable anymap. libvips has no loader for PAM, and takes the greatest sample of every other one for 255 or
/// 65,535, whatever its header says.
final class AnymapPicture: OpenPicture {
  let header: PictureHeader
  private let input: PictureInput
  private let anymap: AnymapHeader
  private let extent: DecodeExtent

  /// Reads the header.
  init(_ input: PictureInput, _ extent: DecodeExtent) throws(DecodeError) {
    do throws(FactsError) {
      anymap = try AnymapHeader(in: ByteWindow(input))
    } catch .truncated {
      throw .corrupt("its header is cut")
    } catch {
      throw DecodeError(error)
    }
    header = PictureHeader(
      stored: .init(width: anymap.width, height: anymap.height), orientation: 1, frames: 1)
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
    let isGray = anymap.bandCount < 3
    return try unsafe Image.filled(
      width: UInt32(anymap.width), height: UInt32(anymap.height),
      bandCount: Int32(anymap.bandCount),
      interpretation: isGray ? VIPS_INTERPRETATION_B_W : VIPS_INTERPRETATION_sRGB
    ) { (start) throws(DecodeError) in
      var samples = unsafe MutableSpan(
        _unsafeStart: start, count: anymap.width * anymap.height * anymap.bandCount)
      if extent == .readablePart { samples.update(repeating: 0) }
      let file = unsafe Span(_unsafeElements: input.buffer)
      let rowCount = AnymapRows(of: anymap).decode(file, to: &samples)
      guard rowCount > 0 else { throw .corrupt(Image.noRowText) }
      guard extent == .readablePart || rowCount == anymap.height else {
        throw .corrupt("\(rowCount) of \(anymap.height) rows are there")
      }
    }
  }

  /// The pixels are there already, so that the picture has nothing to do with it.
  func reason(for error: VipsError) -> DecodeError { DecodeError(error) }
}

@available(*, unavailable)
extension AnymapPicture: Sendable {}
