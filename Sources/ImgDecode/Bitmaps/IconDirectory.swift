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
    let count = min(LittleEndianBytes(head).short(at: 4), Self.maximumEntryCount)
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
