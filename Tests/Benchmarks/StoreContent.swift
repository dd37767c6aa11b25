import ImgModel
import ImgStore
import SeededRandom

/// The thumbnails that a store is measured with. Each has a number, from which its URL follows.
struct StoreContent {
  /// Bytes of each picture.
  let pictureByteCount: Int
  private let picture: [UInt8]

  /// Two pages a record.
  static let usual = StoreContent(pictureByteCount: 6_000)
  /// One page a record, so that five million of them fit on a usual disk.
  static let small = StoreContent(pictureByteCount: 3_900)

  private static let lifetime = Duration.seconds(30 * 86_400)

  init(pictureByteCount: Int) {
    self.pictureByteCount = pictureByteCount
    var random = SeededGenerator(seed: UInt64(pictureByteCount))
    picture = (0..<pictureByteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) }
  }

  func key(_ number: Int) throws -> ContentKey {
    ContentKey(PictureName(try ImageURL(parsing: Self.url(number))), variant: .standard)
  }

  /// - Parameter byteCount: bytes of the picture; `nil` for the usual number of them.
  func thumbnail(_ number: Int, byteCount: Int? = nil) throws -> NewThumbnail {
    let bytes = byteCount.map { [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: $0) }
    let thumbnail = Thumbnail(
      format: .jpeg, width: 256, height: 171, byteCount: byteCount ?? pictureByteCount)
    return NewThumbnail(
      key: try key(number), url: Self.url(number), thumbnail: thumbnail, sourceFormat: .jpeg,
      sourceWidth: 4_000, sourceHeight: 2_667, sourceByteCount: 3_141_592,
      retention: Retention(until: WallTime.now.advanced(by: Self.lifetime)),
      bytes: bytes ?? picture)
  }

  /// A key for LMDB alone, as long and as random as the store's.
  func bareKey(_ number: Int) -> [UInt8] {
    var random = SeededGenerator(seed: UInt64(number))
    return (0..<ContentKey.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &random) }
  }

  /// A record for LMDB alone, as long as the store's (see `ThumbnailRecord`): header, URL, picture.
  var bareRecord: [UInt8] {
    let headerByteCount = 100
    return [UInt8](repeating: 7, count: headerByteCount + Self.url(0).utf8.count) + picture
  }

  /// As long for every number, at an unused address (RFC 5737, TEST-NET-1).
  private static func url(_ number: Int) -> String {
    "http://192.0.2.1/photographs/2024-07/\(1_000_000_000 + number)-large-1024x768.jpg"
  }

  // MARK: - Filling

  private static let groupCount = 256

  func fill(_ store: ThumbnailStore, with numbers: Range<Int>) throws {
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: Self.groupCount) {
      let group = start..<min(start + Self.groupCount, numbers.upperBound)
      try store.put(group.map { try thumbnail($0) }, at: WallTime.now)
    }
  }

  func fill(_ store: BareStore, with numbers: Range<Int>) throws {
    let record = bareRecord
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: Self.groupCount) {
      let group = start..<min(start + Self.groupCount, numbers.upperBound)
      try store.put(record, for: group.lazy.map(bareKey))
    }
  }
}
