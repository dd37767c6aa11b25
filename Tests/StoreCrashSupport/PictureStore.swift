import ImgModel
package import ImgStore
import SeededRandom

/// The store for the crash tests. This file contains all they use of its interface.
///
/// Its clock counts seconds from a fixed time and stands still unless a test moves it.
package final class PictureStore: Sendable {
  private let shared: SharedStore

  private static let epoch = WallTime(rawValue: 1_800_000_000_000)
  private static let cleanedAtOnce = 10_000
  private static let listedAtOnce = 256

  /// Opens the store as a worker does.
  package init(directory: String, budgetByteCount: Int64) throws(StoreError) {
    shared = try SharedStore(
      directory: directory, access: .readWrite(budgetByteCount: budgetByteCount))
  }

  /// Opens the store as a client does.
  package init(readingFrom directory: String) throws(StoreError) {
    shared = try SharedStore(directory: directory, access: .readOnly)
  }

  // MARK: - Changing

  package func put(_ pictures: [Picture], at now: Int) throws(StoreError) {
    let thumbnails = pictures.map(Self.thumbnail)
    try shared.change { store throws(StoreError) in
      try store.put(thumbnails, at: Self.time(now))
    }
  }

  package func remove(_ numbers: [Int]) throws(StoreError) {
    _ = try shared.change { store throws(StoreError) in
      try store.remove(numbers.map(Self.key))
    }
  }

  /// Removes a picture if it has expired.
  package func removeStale(_ number: Int, at now: Int) throws(StoreError) {
    _ = try shared.change { store throws(StoreError) in
      try store.removeStale([Self.key(number)], at: Self.time(now))
    }
  }

  /// Removes everything that has expired.
  package func clean(at now: Int) throws(StoreError) {
    _ = try shared.change { store throws(StoreError) in
      try store.removeExpired(at: Self.time(now), limit: Self.cleanedAtOnce)
    }
  }

  package func reset() throws(StoreError) {
    try shared.reset()
  }

  /// Removes what is damaged.
  package func repair() throws {
    _ = try shared.verify(isRepairing: true) { _ in }
  }

  // MARK: - Reading

  /// The picture that the store gives out; `nil` when there is none, or it has expired.
  package func picture(_ number: Int, at now: Int) throws(StoreError) -> Picture? {
    try shared.current().withThumbnail(Self.key(number), at: Self.time(now)) { facts, bytes in
      Picture(
        number: number, recognising: unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) },
        expiresAt: Self.seconds(facts.expiryTime))
    }
  }

  /// Keeps a reader's snapshot for as long as `body` runs; `false` when the picture is not there.
  package func holdSnapshot(
    with number: Int, at now: Int, _ body: () -> Void
  ) throws(StoreError) -> Bool {
    try shared.current().withThumbnail(Self.key(number), at: Self.time(now)) { _, _ in
      body()
      return true
    } ?? false
  }

  /// How many of the pictures are there, looked up on one snapshot.
  package func hitCount(_ numbers: [Int], at now: Int) throws(StoreError) -> Int {
    try shared.current().lookup(numbers.map(Self.key), at: Self.time(now)).count { lookup in
      if case .hit = lookup { true } else { false }
    }
  }

  /// All pictures by their numbers, also those that have expired. Not one snapshot: what others
  /// put or remove meanwhile is there or not.
  package func contents() throws(StoreError) -> [Int: Picture] {
    let store = try shared.current()
    var contents: [Int: Picture] = [:]
    var last: ContentKey?
    while true {
      let listed = try store.thumbnails(after: last, limit: Self.listedAtOnce)
      for facts in listed {
        guard let number = Self.number(inURL: facts.name) else { continue }
        // Before the beginning of the clock nothing has expired.
        let moment = -Picture.never
        if let picture = try picture(number, at: moment) {
          contents[number] = picture
        } else if case .stale = try store.lookup(facts.id, at: Self.time(moment)) {
          contents[number] = .unrecognised(number, expiresAt: Self.seconds(facts.expiryTime))
        }
      }
      guard listed.count == Self.listedAtOnce else { return contents }
      last = listed.last?.id
    }
  }

  /// What `cache verify` finds wrong.
  package func defects() throws -> [String] {
    var defects: [String] = []
    _ = try shared.verify(isRepairing: false) { defects.append($0.description) }
    return defects
  }

  /// What `status` asks for.
  package func occupiedByteCount() throws(StoreError) -> Int64 {
    try shared.current().size().occupiedByteCount
  }

  /// What `cache stat` asks for.
  package func figures() throws(StoreError) -> Figures {
    let statistics = try shared.current().statistics(at: Self.time(0))
    return Figures(
      entryCount: statistics.recordCount,
      occupiedByteCount: statistics.occupiedByteCount,
      fileByteCount: statistics.fileByteCount, freePageCount: statistics.freePageCount,
      evictionCount: statistics.counters?.evictions ?? 0)
  }

  package struct Figures: Sendable {
    package let entryCount: Int
    package let occupiedByteCount: Int64
    package let fileByteCount: Int64
    package let freePageCount: Int
    package let evictionCount: UInt64
  }

  /// Clears the slots of readers that died.
  ///
  /// - Returns: how many there were.
  package func clearDeadReaders() throws(StoreError) -> Int {
    try shared.current().checkReaders()
  }

  // MARK: - In the store's own terms

  private static func time(_ seconds: Int) -> WallTime {
    epoch.advanced(by: .seconds(seconds))
  }

  private static func seconds(_ time: WallTime) -> Int {
    Int(epoch.duration(to: time).components.seconds)
  }

  private static let urlPrefix = "https://example.org/"

  private static func number(inURL url: String) -> Int? {
    url.hasPrefix(urlPrefix) ? Int(url.dropFirst(urlPrefix.count)) : nil
  }

  private static func key(_ number: Int) -> ContentKey {
    guard let url = try? ImageURL(parsing: "\(urlPrefix)\(number)") else {
      preconditionFailure("a number makes a URL")
    }
    return ContentKey(PictureName(url), variant: .standard)
  }

  private static func thumbnail(_ picture: Picture) -> NewThumbnail {
    NewThumbnail(
      key: key(picture.number), url: "\(urlPrefix)\(picture.number)",
      thumbnail: Thumbnail(format: .webp, width: 256, height: 171, byteCount: picture.byteCount),
      source: SourcePicture(format: .jpeg, width: 4_000, height: 2_667, byteCount: 3_141_592),
      retention: Retention(until: time(picture.expiresAt)), bytes: picture.bytes)
  }
}

/// A thumbnail that can be told from every other by its bytes alone: they begin with its number and
/// its generation, and the rest follows from these.
package struct Picture: Hashable, Codable, Sendable {
  /// Names it: what is put later under the same number takes its place.
  package let number: Int
  /// Which of all that were ever put under the number.
  package let generation: Int
  package let byteCount: Int
  /// In seconds of the clock, see ``PictureStore``.
  package let expiresAt: Int

  /// An expiry that the clock never reaches.
  package static let never = 1_000_000
  package static let minimumByteCount = 16
  private static let blockWordCount = 32

  package init(number: Int, generation: Int, byteCount: Int, expiresAt: Int = never) {
    precondition(byteCount >= Self.minimumByteCount, "too short to tell who it is")
    self.number = number
    self.generation = generation
    self.byteCount = byteCount
    self.expiresAt = expiresAt
  }

  /// What bytes that were found under a number are; of an impossible generation when they are not,
  /// to the last one, those of a picture of that number.
  package init(number: Int, recognising bytes: [UInt8], expiresAt: Int) {
    let stated = bytes.dropFirst(8).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    let candidate = Picture(
      number: number, generation: Int(truncatingIfNeeded: stated),
      byteCount: max(bytes.count, Self.minimumByteCount), expiresAt: expiresAt)
    self = candidate.bytes == bytes ? candidate : .unrecognised(number, expiresAt: expiresAt)
  }

  /// Something under this number that is no picture of it.
  package static func unrecognised(_ number: Int, expiresAt: Int) -> Picture {
    Picture(number: number, generation: -1, byteCount: Self.minimumByteCount, expiresAt: expiresAt)
  }

  package func expiring(at expiresAt: Int) -> Picture {
    Picture(number: number, generation: generation, byteCount: byteCount, expiresAt: expiresAt)
  }

  /// A block of pseudo-random words, repeated: cheap to make also without optimisation.
  package var bytes: [UInt8] {
    var random = SeededGenerator(seed: UInt64(truncatingIfNeeded: number &* 1_000_003 ^ generation))
    var block: [UInt8] = []
    for index in 0..<Self.blockWordCount {
      let word =
        switch index {
        case 0: UInt64(truncatingIfNeeded: number)
        case 1: UInt64(truncatingIfNeeded: generation)
        default: random.next()
        }
      for shift in stride(from: 0, to: 64, by: 8) {
        block.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
      }
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount)
    while bytes.count + block.count <= byteCount { bytes.append(contentsOf: block) }
    bytes.append(contentsOf: block.prefix(byteCount - bytes.count))
    return bytes
  }
}
