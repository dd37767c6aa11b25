import FoundationEssentials
import ImgModel

/// What an ``InMemoryCluster`` has stored.
struct InMemoryStore {
  private struct Entry {
    let record: CacheRecord
    let image: LoadedImage
  }

  private var entries: [MemoryKey: Entry] = [:]
  private var counters = CacheStatistics.Counters()
  private var lastNumber = 0

  /// An image that has not expired.
  mutating func image(for key: MemoryKey, at now: Date) -> LoadedImage? {
    guard let entry = entries[key], entry.record.expiresAt > now else { return nil }
    counters.hits += 1
    return entry.image.from(.store)
  }

  /// An image, also one that has expired. Is not counted as an access.
  func image(storedAs key: MemoryKey) -> LoadedImage? {
    entries[key]?.image
  }

  /// The image of a record that has not expired.
  func image(of id: CacheRecord.ID, at now: Date) -> LoadedImage? {
    let entry = entries.values.first { $0.record.id == id && $0.record.expiresAt > now }
    return entry?.image.from(.store)
  }

  mutating func countMiss() {
    counters.misses += 1
  }

  /// - Parameter image: has a time at which it was stored, and an expiry.
  mutating func insert(_ image: LoadedImage, for key: MemoryKey) {
    guard let storedAt = image.storedAt, let expiresAt = image.expiresAt else { return }
    lastNumber += 1
    let digits = String(lastNumber)
    let record = CacheRecord(
      // Sorts like the number.
      id: String(repeating: "0", count: max(0, 64 - digits.count)) + digits, url: key.url,
      kind: .thumbnail, type: image.type, width: image.width, height: image.height,
      byteCount: image.bytes.count, thumbHash: image.thumbHash, storedAt: storedAt,
      expiresAt: expiresAt)
    entries[key] = Entry(record: record, image: image)
    counters.stores += 1
  }

  /// - Returns: whether it was there.
  mutating func remove(_ key: MemoryKey) -> Bool {
    entries.removeValue(forKey: key) != nil
  }

  /// - Returns: how many were there.
  mutating func removeAll(of url: ImageURL) -> Int {
    remove { key, _ in key.isOf(url) }
  }

  /// - Returns: how many had expired.
  mutating func removeExpired(at now: Date) -> Int {
    let removedCount = remove { _, entry in entry.record.expiresAt <= now }
    counters.expiredRemovals += UInt64(removedCount)
    return removedCount
  }

  mutating func removeAll() {
    entries = [:]
  }

  private mutating func remove(where isUnwanted: (MemoryKey, Entry) -> Bool) -> Int {
    let before = entries.count
    entries = entries.filter { !isUnwanted($0.key, $0.value) }
    return before - entries.count
  }

  func statistics(at now: Date) -> CacheStatistics {
    var statistics = CacheStatistics()
    let records = entries.values.map(\.record)
    statistics.recordCount = records.count
    statistics.byteCount = records.reduce(0) { $0 + Int64($1.byteCount) }
    statistics.occupiedByteCount = statistics.byteCount
    statistics.expiredCount = records.count { $0.expiresAt <= now }
    statistics.oldestStoredAt = records.map(\.storedAt).min()
    statistics.counters = counters
    return statistics
  }

  func records(after id: CacheRecord.ID?, limit: Int) -> [CacheRecord] {
    let rest = entries.values.map(\.record).filter { $0.id > id ?? "" }
    return Array(rest.sorted { $0.id < $1.id }.prefix(limit))
  }
}
