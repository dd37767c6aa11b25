import ImgFacts
import ImgModel

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
}

/// The pictures in an icon or a cursor, which are one picture in several sizes. A cursor differs by its
/// type, and has the place of its tip in two fields that an icon has for its colours.
struct IconDirectory {
  /// At least one.
  private let entries: [IconEntry]

  private static let headerByteCount = 6
  private static let entryByteCount = 16
  /// Icons have a dozen. Entries behind these do not count.
  private static let maximumEntryCount = 256

  /// - Parameter extent: for a readable part, pictures are left out whose headers cannot be read, and
  ///   those that are cut if others are not.
  init(_ input: PictureInput, _ extent: DecodeExtent) throws(DecodeError) {
    let head = input.bytes(at: 0, upTo: Self.headerByteCount)
    guard head.count == Self.headerByteCount else { throw .corrupt("its directory is cut") }
    let count = min(BinaryFields(head, .littleEndian).u16(4), Self.maximumEntryCount)
    var entries: [IconEntry] = []
    for index in 0..<count {
      do throws(DecodeError) {
        entries.append(try Self.entry(index, of: input))
      } catch {
        guard extent == .readablePart else { throw error }
      }
    }
    let present = entries.filter(\.isPresent)
    self.entries = extent == .whole || present.isEmpty ? entries : present
    guard !entries.isEmpty else { throw .corrupt("no picture in it has a header") }
  }

  private static func entry(
    _ index: Int, of input: PictureInput
  ) throws(DecodeError) -> IconEntry {
    let bytes = input.bytes(
      at: headerByteCount + index * entryByteCount, upTo: entryByteCount)
    guard bytes.count == entryByteCount else { throw .corrupt("its directory is cut") }
    return try IconEntry(in: input, bytes)
  }

  /// The picture of the most pixels, and of the most colours among those.
  var largest: IconEntry {
    entries.dropFirst().reduce(entries[0]) { $1.rank > $0.rank ? $1 : $0 }
  }

  /// The pictures that can become a thumbnail, the smallest first: they cover it, and show the same
  /// as the largest. That one is among them.
  ///
  /// - Parameter size: of the thumbnail, at most that of the largest.
  func candidates(for size: ThumbnailGeometry.Size) -> [IconEntry] {
    let largest = largest
    return entries.filter { $0.covers(size) && $0.isAlike(largest) }.sorted {
      ($0.pixelCount, -$0.bitCount) < ($1.pixelCount, -$1.bitCount)
    }
  }
}

extension IconEntry {
  fileprivate var pixelCount: Int { size.width * size.height }
  fileprivate var rank: (pixelCount: Int, bitCount: Int) { (pixelCount, bitCount) }
}

/// One of the pictures in an icon: a bitmap without a file header, or a PNG.
struct IconEntry {
  private enum Content {
    case bitmap(Bitmap)
    case png(PictureInput)
  }

  let size: ThumbnailGeometry.Size
  /// Bits of a pixel.
  let bitCount: Int
  /// Whether the file has as many bytes of it as the directory declares.
  let isPresent: Bool
  private let content: Content

  /// Reads the picture's header. What the directory says of its size and its colours does not count:
  /// a side of 256 pixels or more has no number there, and many programs write wrong ones.
  ///
  /// - Parameters:
  ///   - file: the icon.
  ///   - entry: of the directory, 16 bytes.
  init(in file: PictureInput, _ entry: [UInt8]) throws(DecodeError) {
    let fields = BinaryFields(entry, .littleEndian)
    let (byteCount, offset) = (fields.u32(8), fields.u32(12))
    guard let input = file.dropping(offset) else {
      throw .corrupt("a picture in it lies behind its end")
    }
    isPresent = byteCount <= input.byteCount
    let head = input.bytes(at: 0, upTo: PNGHeader.byteCount)
    if head.starts(with: PNGHeader.signature) {
      guard let header = PNGHeader(head) else { throw .corrupt("a PNG in it has no header") }
      size = .init(width: header.width, height: header.height)
      bitCount = header.bitCount
      content = .png(input)
    } else {
      let bitmap = try Bitmap.inIcon(input)
      size = bitmap.size
      bitCount = bitmap.bitCount
      content = .bitmap(bitmap)
    }
  }

  /// Its pixels; those of a PNG are decoded when they are asked for.
  func frame(_ extent: DecodeExtent) throws(DecodeError) -> Image {
    switch content {
    case .bitmap(let bitmap):
      return try bitmap.frame(extent)
    case .png(let input):
      let picture = try VipsPicture(input, in: .png, extent)
      // The limits were checked against this header.
      guard picture.header.stored == size else { throw .corrupt("a PNG in it has two headers") }
      return try picture.firstFrame(for: size)
    }
  }

  /// Whether it shows the same as a larger one: no other shape, no fewer colours.
  func isAlike(_ other: IconEntry) -> Bool {
    size.hasShape(of: other.size) && bitCount >= other.bitCount
  }

  func covers(_ size: ThumbnailGeometry.Size) -> Bool {
    self.size.width >= size.width && self.size.height >= size.height
  }
}

/// A BMP file. libvips has no loader for it.
final class BitmapPicture: OpenPicture {
  let header: PictureHeader
  private let bitmap: Bitmap
  private let extent: DecodeExtent

  /// Reads the headers.
  init(_ input: PictureInput, _ extent: DecodeExtent) throws(DecodeError) {
    bitmap = try Bitmap.file(input)
    header = PictureHeader(stored: bitmap.size, orientation: 1, frames: 1)
    self.extent = extent
  }

  func firstFrame(for size: ThumbnailGeometry.Size) throws(DecodeError) -> Image {
    try bitmap.frame(extent)
  }
}
