public import FoundationEssentials

/// Names a record of the store: 32 bytes, in texts 64 lower-case hexadecimal digits. The keys have the order
/// of the records.
public struct ContentKey: Hashable, Sendable {
  /// The bytes as big-endian words.
  package let first: UInt64
  package let second: UInt64
  package let third: UInt64
  package let fourth: UInt64

  package init(_ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64) {
    (self.first, self.second, self.third, self.fourth) = (first, second, third, fourth)
  }

  private var words: [UInt64] { [first, second, third, fourth] }

  /// The greatest key that is less; `nil` for the first one.
  package var predecessor: ContentKey? {
    var words = words
    guard let last = words.lastIndex(where: { $0 > 0 }) else { return nil }
    words[last] -= 1
    for index in words.indices[(last + 1)...] { words[index] = .max }
    return ContentKey(words[0], words[1], words[2], words[3])
  }
}

extension ContentKey: Comparable {
  /// Compares the keys as numbers.
  public static func < (left: ContentKey, right: ContentKey) -> Bool {
    left.words.lexicographicallyPrecedes(right.words)
  }
}

extension ContentKey: LosslessStringConvertible {
  private static let digitCount = 16

  /// - Returns: `nil` for another text than a ``description``.
  public init?(_ description: String) {
    let digits = Array(description.utf8)
    guard digits.count == 4 * Self.digitCount else { return nil }
    let words = stride(from: 0, to: digits.count, by: Self.digitCount).compactMap { index in
      UInt64(
        String(decoding: digits[index..<index + Self.digitCount], as: UTF8.self), radix: 16)
    }
    guard words.count == 4 else { return nil }
    self.init(words[0], words[1], words[2], words[3])
    guard self.description == description else { return nil }
  }

  /// 64 lower-case hexadecimal digits.
  public var description: String {
    words.map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: Self.digitCount - digits.count) + digits
    }.joined()
  }
}

/// The facts of a record of the store, without its content.
///
/// It encodes as `imgctl cache ls --json` prints it, without `schema`.
public struct CacheRecord: Hashable, Sendable, Identifiable {
  /// What a record contains.
  ///
  /// Later versions may add cases, so a `switch` over them needs an `@unknown default`.
  @nonexhaustive
  public enum Kind: String, Hashable, Sendable, CaseIterable, Encodable {
    /// A thumbnail.
    case thumbnail
    /// A picture as its origin sent it.
    case original
    /// The facts of a picture, as `imgctl info` prints them.
    case facts
  }

  /// Tells the record from all others.
  public let id: ContentKey
  /// The name of the picture: its URL or cache key, with a hash of the header fields that selected it.
  package let name: String
  /// What the record contains.
  public let kind: Kind
  /// The thumbnail or the original; of facts, the picture and the length of the facts.
  public let thumbnail: Thumbnail
  /// The picture that a thumbnail was made from; of another record, the picture itself.
  public let source: SourcePicture
  package let storageTime: WallTime
  package var expiryTime: WallTime
  /// How long the record is kept after each access; 0 if accesses do not change the expiry.
  package var lifetime: Duration
  /// The terms of HTTP caching, independent of ``expiryTime``.
  package let terms: ReuseTerms

  package init(
    id: ContentKey, name: String, kind: Kind, thumbnail: Thumbnail, source: SourcePicture,
    storageTime: WallTime, expiryTime: WallTime, lifetime: Duration = .zero,
    terms: ReuseTerms = .none
  ) {
    self.id = id
    self.name = name
    self.kind = kind
    self.thumbnail = thumbnail
    self.source = source
    self.storageTime = storageTime
    self.expiryTime = expiryTime
    self.lifetime = lifetime
    self.terms = terms
  }

  /// A record, such as that of another transport.
  public init(
    id: ContentKey, url: String, kind: Kind, thumbnail: Thumbnail, source: SourcePicture,
    storedAt: Date, expiresAt: Date
  ) {
    self.init(
      id: id, name: url, kind: kind, thumbnail: thumbnail, source: source,
      storageTime: WallTime(storedAt), expiryTime: WallTime(expiresAt))
  }

  /// When the bytes were stored. The ``storageTime`` is later if the origin has confirmed them since.
  package var bytesStorageTime: WallTime { terms.bytesStorageTime ?? storageTime }

  /// Whether it is an original that was not decoded when it was stored: see ``Keep/undecodedOriginal``.
  package var isUndecoded: Bool { source.decodePath == .undecoded }

  /// The URL of the picture, as the cluster normalizes it, or the key that a command has named it with.
  public var url: String { PictureName.text(ofRecord: name) }
  /// The ThumbHash of the picture that a thumbnail was made from, in some 25 bytes; `nil` for other records,
  /// and if the cluster could not make one.
  public var thumbHash: [UInt8]? { source.thumbHash?.bytes }
  /// When it was stored.
  public var storedAt: Date { Date(storageTime) }
  /// The record is not served from this time on.
  public var expiresAt: Date { Date(expiryTime) }
}

extension CacheRecord: Encodable {
  /// Writes the keys of `imgctl cache ls --json`, without `schema`.
  public func encode(to encoder: any Encoder) throws {
    try JSONObject(
      [
        "key": id.description, "kind": kind, "url": name.withoutPasswords,
        "stored_at": storageTime, "expires_at": expiryTime,
        "lifetime_ms": lifetime > .zero ? lifetime.milliseconds : nil,
      ], beside: source, thumbnail
    ).encode(to: encoder)
  }
}

/// The size of the store, and its limits.
package struct CacheSize: Hashable, Sendable {
  package let recordCount: Int
  /// The bytes of all used pages: records, indexes and the loss by rounding to pages. The file also
  /// contains the free pages.
  package let occupiedByteCount: Int64
  /// The budget of the last process that opened the store for writing.
  package let budgetByteCount: Int64
  /// The limit of the disk; `nil` if it is above the budget.
  package let diskByteCount: Int64?
  /// What the originals take that ``Keep/auto`` has kept.
  package let autoOriginalByteCount: Int64

  package init(
    recordCount: Int, occupiedByteCount: Int64, budgetByteCount: Int64, diskByteCount: Int64?,
    autoOriginalByteCount: Int64 = 0
  ) {
    self.autoOriginalByteCount = autoOriginalByteCount
    self.recordCount = recordCount
    self.occupiedByteCount = occupiedByteCount
    self.budgetByteCount = budgetByteCount
    self.diskByteCount = diskByteCount
  }

  /// The maximum size of the store now.
  package var effectiveBudgetByteCount: Int64 { diskByteCount ?? budgetByteCount }
}

extension CacheSize: Encodable {
  /// Writes what `imgctl status --json` prints about the store.
  package func encode(to encoder: any Encoder) throws {
    try JSONObject([
      "entries": recordCount, "occupied_bytes": occupiedByteCount, "budget_bytes": budgetByteCount,
      "effective_budget_bytes": effectiveBudgetByteCount,
      "auto_original_bytes": autoOriginalByteCount,
    ]).encode(to: encoder)
  }
}

/// What the store holds, and how often it had what was asked for. All sizes are in bytes.
///
/// A transport fills in what it knows. The statistics encode as `imgctl cache stat --json` prints them,
/// without `schema`.
public struct CacheStatistics: Hashable, Sendable {
  /// The work of all processes that use the store, since it was created.
  public struct Counters: Hashable, Sendable, Encodable {
    /// Look-ups that found a record.
    public var hits: UInt64 = 0
    /// Look-ups of records that were missing, expired or damaged.
    public var misses: UInt64 = 0
    /// Records that were stored.
    public var stores: UInt64 = 0
    /// Records that were removed for lack of room before they expired.
    public var evictions: UInt64 = 0
    /// Records that were removed because they had expired.
    public var expiredRemovals: UInt64 = 0
    /// Records that were removed because they were damaged.
    public var damagedRemovals: UInt64 = 0

    /// Counters of nothing.
    public init() {}

    /// The share of hits among the look-ups, from 0 to 1; `nil` without look-ups.
    public var hitRate: Double? {
      let lookups = Double(hits) + Double(misses)
      return lookups > 0 ? Double(hits) / lookups : nil
    }

    private enum CodingKeys: String, CodingKey {
      case hits, misses, stores, evictions
      case expiredRemovals = "expired_removals"
      case damagedRemovals = "damaged_removals"
    }
  }

  /// The number of records: thumbnails, originals and facts of pictures. Includes expired ones that are
  /// not yet removed.
  public var recordCount = 0
  /// The size of what the records contain.
  public var byteCount: Int64 = 0
  /// The number of records that have expired and are not yet removed.
  public var expiredCount = 0
  /// The number of downloads that were interrupted and can be resumed.
  public var partialCount = 0
  /// The size of these downloads.
  public var partialByteCount: Int64 = 0
  /// The number of records that jobs pin.
  package var pinnedCount = 0
  /// What these take, about.
  package var pinnedByteCount: Int64 = 0
  /// The number of originals that ``Keep/auto`` has kept.
  package var autoOriginalCount = 0
  /// What these take, about.
  package var autoOriginalByteCount: Int64 = 0
  /// The size of the store: the records, the downloads and the indexes.
  public var occupiedByteCount: Int64 = 0
  /// The size that the store may have; `nil` without a store.
  public var budgetByteCount: Int64?
  /// The size that the disk permits; `nil` if that is above the budget.
  public var diskByteCount: Int64?
  package var oldestStorageTime: WallTime?
  /// `nil` if this process may not read them.
  public var counters: Counters?
  /// The size of the store's file.
  public var fileByteCount: Int64 = 0
  /// The size of what the file contains and the store does not use.
  public var freeByteCount: Int64 = 0
  /// The number of pages of that size.
  package var freePageCount = 0
  /// The address space that is reserved for the file.
  package var mapByteCount: Int64 = 0

  /// Statistics of an empty store.
  public init() {}

  /// When the oldest record was stored; `nil` without records.
  public var oldestStoredAt: Date? {
    get { oldestStorageTime.map { Date($0) } }
    set { oldestStorageTime = newValue.map { WallTime($0) } }
  }
}

extension CacheStatistics: Encodable {
  /// Writes the keys of `imgctl cache stat --json`, without `schema`.
  public func encode(to encoder: any Encoder) throws {
    try JSONObject(
      [
        "entries": recordCount, "thumbnail_bytes": byteCount, "expired": expiredCount,
        "partials": partialCount, "partial_bytes": partialByteCount, "pinned": pinnedCount,
        "pinned_bytes": pinnedByteCount, "auto_originals": autoOriginalCount,
        "auto_original_bytes": autoOriginalByteCount, "occupied_bytes": occupiedByteCount,
        "budget_bytes": budgetByteCount, "oldest_stored_at": oldestStorageTime,
        "hit_rate": counters?.hitRate, "free_pages": freePageCount, "free_bytes": freeByteCount,
        "file_bytes": fileByteCount, "map_bytes": mapByteCount,
      ], beside: counters
    ).encode(to: encoder)
  }
}

/// An object of JSON that is no value of its own: members, and beside them those of values.
package struct JSONObject: Encodable {
  private struct Key: CodingKey {
    let stringValue: String

    init(stringValue: String) {
      self.stringValue = stringValue
    }

    var intValue: Int? { nil }

    init?(intValue: Int) { nil }
  }

  private let members: KeyValuePairs<String, (any Encodable)?>
  private let values: [(any Encodable)?]
  private let writesNull: Bool

  /// - Parameters:
  ///   - members: one takes the place of the member of a value with the same name.
  ///   - writesNull: whether a member that is `nil` is `null`, rather than left out.
  ///   - values: encode as objects. Their members take the places of those of the values before them.
  package init(
    _ members: KeyValuePairs<String, (any Encodable)?>, writesNull: Bool = false,
    beside values: (any Encodable)?...
  ) {
    self.members = members
    self.values = values
    self.writesNull = writesNull
  }

  package func encode(to encoder: any Encoder) throws {
    // An object without members is an object, too.
    var container = encoder.container(keyedBy: Key.self)
    for value in values { try value?.encode(to: encoder) }
    for (name, member) in members {
      let key = Key(stringValue: name)
      if let member {
        try container.encode(member, forKey: key)
      } else if writesNull {
        try container.encodeNil(forKey: key)
      }
    }
  }
}
