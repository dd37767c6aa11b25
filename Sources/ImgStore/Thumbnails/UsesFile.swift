import ImgSystem
import Synchronization

/// The file `uses` beside the environment: what every process notes of how a store is used, so that
/// a read writes nothing into LMDB and waits for nobody.
///
/// Integers are in the byte order of the machine, as in LMDB's files.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | magic |
/// | 8 | 8 | version of this layout: 2; 1 had a fixed number of slots, which held 0 or 1 |
/// | 16 | 8 | number of slots, a power of two |
/// | 24 | 8 | 1 once another file has taken the place of this one, else 0 |
/// | 64 × n | 8 | a counter, for n from 1 to 6, each in a cache line of its own |
/// | 4,096 | 1 each | slots: the mark of the record on it that was read last, 0 for none |
///
/// Keys that share a slot displace each other's marks, so of the records that were read some are
/// taken for unread: with a store full of 8 KiB thumbnails one in eighty when a fifth of all were
/// read, one in sixteen when all were. The other error, to take an unread record for read, needs
/// equal marks, which one pair in 255 has. Whatever is in the file, a store answers the same.
///
/// There is a slot for each KiB of the store's budget. A larger budget needs a larger file, which
/// its first writer puts in place of the old one; whoever has that mapped sees so by its header, at
/// the next note, and goes on with the new one. What is counted in that moment is lost, and all
/// marks are: until the new room is used up nobody asks for them. A smaller budget keeps the file.
final class UsesFile: Sendable {
  static let name = "uses"
  /// Enough for any small store; the file then has 68 KiB.
  static let minimumSlotCount = 1 << 16
  /// For a budget of 1 TiB; beyond that keys share slots more often.
  static let maximumSlotCount = 1 << 30

  private static let budgetByteCountOfSlot: Int64 = 1_024
  private static let headerByteCount = 4_096
  /// "imgctl-u" as its eight bytes lie in the file of a little-endian machine.
  private static let magic: UInt64 = 0x752D_6C74_6367_6D69
  private static let version: UInt64 = 2
  private static let wordsInLine = 8

  private enum HeaderWord {
    static let magic = 0
    static let version = 1
    static let slotCount = 2
    static let isReplaced = 3
  }

  /// Numbers are added, never reused.
  private enum Counter: Int {
    case hits = 1
    case misses, stores, evictions, expiredRemovals, damagedRemovals

    var word: Int { rawValue * wordsInLine }
  }

  private let directory: String
  private let file: MappedFile
  let slotCount: Int
  /// The file that has taken the place of this one, once this process has seen that.
  private let successor = AtomicLazyReference<UsesFile>()

  /// Maps the file of the store in `directory`; `nil` when there is none that this process may
  /// write, or it is none of this layout. Then nothing is noted.
  convenience init?(directory: String) {
    let path = Self.path(in: directory)
    guard
      let file = try? MappedFile(path: path, whereByteCount: { $0 > Self.headerByteCount }),
      file.word(HeaderWord.magic) == Self.magic, file.word(HeaderWord.version) == Self.version
    else { return nil }
    let slotCount = file.byteCount - Self.headerByteCount
    guard slotCount.nonzeroBitCount == 1,
      file.word(HeaderWord.slotCount) == UInt64(slotCount)
    else { return nil }
    self.init(file, directory: directory)
  }

  private init(_ file: MappedFile, directory: String) {
    self.file = file
    self.directory = directory
    slotCount = file.byteCount - Self.headerByteCount
  }

  /// The file of the store in `directory`, made anew when there is none of this layout with slots
  /// enough for the budget; `nil` when that fails, as on a full disk: a store without it evicts in
  /// the order of arrival.
  ///
  /// All its room is taken at once, a thousandth of the budget: on a full disk, to touch a page
  /// that has none yet is the death of the process.
  ///
  /// - Precondition: the caller is the store's only writer of all processes.
  static func openOrCreate(directory: String, budgetByteCount: Int64) -> UsesFile? {
    let existing = UsesFile(directory: directory)
    let slotCount = slotCount(budgetByteCount: budgetByteCount)
    if let existing, existing.slotCount >= slotCount { return existing }
    let created = try? MappedFile.create(
      path: path(in: directory), byteCount: headerByteCount + slotCount
    ) { file in
      file.setWord(HeaderWord.version, to: version)
      file.setWord(HeaderWord.slotCount, to: UInt64(slotCount))
      file.setWord(HeaderWord.magic, to: magic)
    }
    guard let created else { return existing }
    let uses = UsesFile(created, directory: directory)
    if let existing {
      existing.file.setWord(HeaderWord.isReplaced, to: 1)
      uses.add(existing.ownCounters)
    }
    return uses
  }

  /// The number of slots for a budget: a power of two.
  static func slotCount(budgetByteCount: Int64) -> Int {
    var slotCount = minimumSlotCount
    while slotCount < maximumSlotCount,
      Int64(slotCount) < budgetByteCount / budgetByteCountOfSlot
    {
      slotCount *= 2
    }
    return slotCount
  }

  /// This file or, once another has taken its place, that one.
  private var current: UsesFile {
    guard file.word(HeaderWord.isReplaced) != 0 else { return self }
    if let known = successor.load() { return known.current }
    // Only a larger one takes a place, so no file follows itself.
    guard let found = UsesFile(directory: directory), found.slotCount > slotCount else {
      return self
    }
    return successor.storeIfNil(found).current
  }

  // MARK: - Uses

  /// Notes that a record was read. Nothing is written when that is noted already, so that the cache
  /// lines of what is read often stay shared by all processors.
  func note(_ key: ContentKey) {
    let uses = current
    let (slot, mark) = (uses.slot(of: key), Self.mark(of: key))
    if uses.file.byte(slot) != mark { uses.file.setByte(slot, to: mark) }
  }

  /// Whether a record was read since this was last forgotten.
  func isNoted(_ key: ContentKey) -> Bool {
    let uses = current
    return uses.file.byte(uses.slot(of: key)) == Self.mark(of: key)
  }

  /// Forgets that a record was read; a use noted meanwhile is lost with the others.
  func forget(_ key: ContentKey) {
    let uses = current
    if uses.isNoted(key) { uses.file.setByte(uses.slot(of: key), to: 0) }
  }

  private func slot(of key: ContentKey) -> Int {
    Self.headerByteCount + Int(truncatingIfNeeded: key.leadingBits) & (slotCount - 1)
  }

  /// From bits that choose no slot; never 0.
  private static func mark(of key: ContentKey) -> UInt8 {
    max(1, UInt8(truncatingIfNeeded: key.leadingBits >> 56))
  }

  // MARK: - Counters

  var counters: StoreCounters { current.ownCounters }

  private var ownCounters: StoreCounters {
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
    let uses = current
    uses.add(counters.hits, to: .hits)
    uses.add(counters.misses, to: .misses)
    uses.add(counters.stores, to: .stores)
    uses.add(counters.evictions, to: .evictions)
    uses.add(counters.expiredRemovals, to: .expiredRemovals)
    uses.add(counters.damagedRemovals, to: .damagedRemovals)
  }

  private func count(of counter: Counter) -> UInt64 {
    file.word(counter.word)
  }

  private func add(_ amount: UInt64, to counter: Counter) {
    if amount > 0 { file.add(amount, toWord: counter.word) }
  }

  private static func path(in directory: String) -> String {
    "\(directory)/\(name)"
  }
}
