/// An icon or a cursor of Windows. libvips has no loader for them.
final class IconPicture: OpenPicture {
  let header: PictureHeader
  private let directory: IconDirectory
  private let extent: DecodeExtent

  /// How many pictures of a damaged icon are tried.
  private static let maximumAttemptCount = 8

  /// Reads all headers. The size is that of the largest picture in it. It has one frame, because the
  /// others are the same in other sizes.
  init(_ input: PictureInput, _ extent: DecodeExtent) throws(DecodeError) {
    directory = try IconDirectory(input, extent)
    header = PictureHeader(stored: directory.largest.size, orientation: 1, frames: 1)
    self.extent = extent
  }

  /// The smallest picture that is large enough.
  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    let candidates = directory.candidates(for: size).prefix(Self.maximumAttemptCount)
    if extent == .readablePart {
      for candidate in candidates {
        if let frame = try wholeFrame(of: candidate) { return frame }
      }
    }
    return try (candidates.first ?? directory.largest).frame(extent)
  }

  /// The pixels in memory; `nil` if they are damaged.
  private func wholeFrame(of entry: IconEntry) throws(DecodeError) -> Image? {
    do throws(DecodeError) {
      let frame = try entry.frame(.whole)
      do throws(VipsError) {
        return try frame.inMemory()
      } catch {
        throw reason(for: error)
      }
    } catch {
      guard case .corrupt = error else { throw error }
      return nil
    }
  }

  func reason(for error: VipsError) -> DecodeError { DecodeError(error) }
}

@available(*, unavailable)
extension IconPicture: Sendable {}
