import ImgSystem

/// The file `uses` beside the environment: what every process notes of how a store is used, so that
/// a read writes nothing into LMDB and waits for nobody.
///
/// Integers are in the byte order of the machine, as in LMDB's files.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | magic |
/// | 8 | 8 | version of this layout: 1 |
/// | 16 | 8 | number of slots: 1,048,576 |
/// | 64 × n | 8 | a counter, for n from 1 to 6, each in a cache line of its own |
/// | 4,096 | 1 each | slots: 1 when a record whose key falls on it was read, else 0 |
///
/// Keys that share a slot share its use, and the first of them that eviction comes by takes it. So
/// the more records there are for each slot, the more of those that were read go with those that
/// were not; nothing else depends on it. Whatever is in the file, a store answers the same.
final class UsesFile: Sendable {
  static let name = "uses"
  /// More than the default budget has pages, so keys that share a slot are few. A power of two.
  static let slotCount = 1 << 20
  static let byteCount = headerByteCount + slotCount

  private static let headerByteCount = 4_096
  /// "imgctl-u" as its eight bytes lie in the file of a little-endian machine.
  private static let magic: UInt64 = 0x752D_6C74_6367_6D69
  private static let version: UInt64 = 1
  private static let wordsInLine = 8

  private enum HeaderWord {
    static let magic = 0
    static let version = 1
    static let slotCount = 2
  }

  /// Numbers are added, never reused.
  private enum Counter: Int {
    case hits = 1
    case misses, stores, evictions, expiredRemovals, damagedRemovals

    var word: Int { rawValue * wordsInLine }
  }

  private let file: MappedFile

  /// Maps the file of the store in `directory`; `nil` when there is none that this process may
  /// write, or it is none of this layout. Then nothing is noted.
  init?(directory: String) {
    guard
      let file = try? MappedFile(path: Self.path(in: directory), byteCount: Self.byteCount),
      file.word(HeaderWord.magic) == Self.magic, file.word(HeaderWord.version) == Self.version,
      file.word(HeaderWord.slotCount) == UInt64(Self.slotCount)
    else { return nil }
    self.file = file
  }

  private init(_ file: MappedFile) {
    self.file = file
  }

  /// The file of the store in `directory`, created anew when there is none of this layout; `nil`
  /// when that fails, as on a full disk: a store without it evicts in the order of arrival.
  ///
  /// - Precondition: the caller is the store's only writer of all processes.
  static func openOrCreate(directory: String) -> UsesFile? {
    if let existing = UsesFile(directory: directory) { return existing }
    let created = try? MappedFile.create(path: path(in: directory), byteCount: byteCount) { file in
      file.setWord(HeaderWord.version, to: version)
      file.setWord(HeaderWord.slotCount, to: UInt64(slotCount))
      file.setWord(HeaderWord.magic, to: magic)
    }
    return created.map(UsesFile.init)
  }

  // MARK: - Uses

  /// Notes that a record was read. Only the first time writes, so that the cache lines of what is
  /// read often stay shared by all processors.
  func note(_ key: ContentKey) {
    let slot = Self.slot(of: key)
    if file.byte(slot) == 0 { file.setByte(slot, to: 1) }
  }

  /// Whether a record was read since this was asked of its slot last.
  func take(_ key: ContentKey) -> Bool {
    let slot = Self.slot(of: key)
    guard file.byte(slot) != 0 else { return false }
    // A use noted between the two lines is lost; it was as late as one before them.
    file.setByte(slot, to: 0)
    return true
  }

  // MARK: - Counters

  var counters: StoreCounters {
    var counters = StoreCounters()
    counters.hits = count(of: .hits)
    counters.misses = count(of: .misses)
    counters.stores = count(of: .stores)
    counters.evictions = count(of: .evictions)
    counters.expiredRemovals = count(of: .expiredRemovals)
    counters.damagedRemovals = count(of: .damagedRemovals)
    return counters
  }

  /// Adds what a process has counted; at most one addition in memory for each counter.
  func add(_ counters: StoreCounters) {
    add(counters.hits, to: .hits)
    add(counters.misses, to: .misses)
    add(counters.stores, to: .stores)
    add(counters.evictions, to: .evictions)
    add(counters.expiredRemovals, to: .expiredRemovals)
    add(counters.damagedRemovals, to: .damagedRemovals)
  }

  private func count(of counter: Counter) -> UInt64 {
    file.word(counter.word)
  }

  private func add(_ amount: UInt64, to counter: Counter) {
    if amount > 0 { file.add(amount, toWord: counter.word) }
  }

  private static func slot(of key: ContentKey) -> Int {
    headerByteCount + Int(truncatingIfNeeded: key.leadingBits) & (slotCount - 1)
  }

  private static func path(in directory: String) -> String {
    "\(directory)/\(name)"
  }
}
