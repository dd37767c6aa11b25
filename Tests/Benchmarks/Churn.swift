import Glibc
import ImgModel
import ImgStore
import SeededRandom

/// Puts pictures of mixed sizes, each new, into a store.
struct Churn {
  private let store: ThumbnailStore
  private let content = StoreContent.usual
  private var random = SeededGenerator(seed: 1)
  private var count = 0

  private static let groupCount = 16
  /// From 2 to 200 KiB.
  private static let smallestByteCount = 2_048.0
  private static let spread = 100.0

  init(store: ThumbnailStore) {
    self.store = store
  }

  /// Puts pictures until they have so many bytes.
  mutating func put(byteCount: Int64) throws {
    var left = byteCount
    while left > 0 {
      let group = try (count..<count + Self.groupCount).map { number in
        try content.thumbnail(number, byteCount: nextByteCount())
      }
      try store.put(group, at: WallTime.now)
      count += Self.groupCount
      left -= group.reduce(0) { $0 + Int64($1.bytes.count) }
    }
  }

  /// The key of what was put last, after a first group if there is none.
  mutating func newest() throws -> ContentKey {
    if count == 0 { try put(byteCount: 1) }
    return try content.key(count - 1)
  }

  /// As often between 2 and 4 KiB as between 100 and 200.
  private mutating func nextByteCount() -> Int {
    let share = Double(random.next() >> 11) / Double(1 << 53)
    return Int(Self.smallestByteCount * pow(Self.spread, share))
  }
}
