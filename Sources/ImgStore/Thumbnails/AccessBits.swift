import ImgModel
import ImgSystem
import Synchronization

/// The file `access` beside the environment: access bits and counters of all processes, so that a
/// read writes nothing into LMDB and waits for no writer.
///
/// Integers are in the byte order of the machine, as in LMDB's files.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | magic |
/// | 8 | 8 | version of this layout: 2; 1 had a fixed number of slots, which held 0 or 1 |
/// | 16 | 8 | number of slots, a power of two |
/// | 24 | 8 | 1 after another file has replaced this one, else 0 |
/// | 64 × n | 8 | a counter, for n from 1 to 6, each in its own cache line |
/// | 4,096 | 1 each | slots: the mark of the last accessed record of the slot, 0 for none |
///
/// Keys that share a slot overwrite each other's marks, so some accessed records lose their bit:
/// with a store full of 8 KiB thumbnails, one in eighty if a fifth of all were accessed, one in
/// sixteen if all were. The opposite error needs equal marks, which one pair in 255 has. The
/// content of the file never changes what a store returns.
///
/// There is one slot for each KiB of the store's budget. A larger budget needs a larger file, and
/// its first writer replaces the old one. A process that maps the old file notices this by the
/// header at the next access, and continues with the new one. Counts of that moment and all marks
/// are lost; eviction needs the marks only after the larger budget is used up. A smaller budget
/// keeps the file.
final class AccessBits: Sendable {
  static let fileName = "access"
  /// Enough for any small store; the file then has 68 KiB.
  static let minimumSlotCount = 1 << 16
  /// For a budget of 1 TiB. Beyond that, keys share slots more often.
  static let maximumSlotCount = 1 << 30

  private static let budgetByteCountOfSlot: Int64 = 1_024
  private static let headerByteCount = 4_096
  /// "imgctl-a" in the byte order of a little-endian machine.
  private static let magic: UInt64 = 0x612D_6C74_6367_6D69
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
  /// The file that has replaced this one, after this process noticed it.
  private let successor = AtomicLazyReference<AccessBits>()

  /// Maps the file of the store in `directory`; `nil` if there is none with this layout that this
  /// process may write. Accesses are then not recorded.
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

  /// Opens the file of the store in `directory`, or creates it if there is none with this layout
  /// and enough slots for the budget; `nil` if that fails, for example on a full disk. Without the
  /// file, a store evicts in the order of arrival.
  ///
  /// Allocates all disk space at once, a thousandth of the budget, because an access to a page
  /// without disk space ends the process.
  ///
  /// - Precondition: the caller is the store's only writer of all processes.
  static func openOrCreate(directory: String, budgetByteCount: Int64) -> AccessBits? {
    let existing = AccessBits(directory: directory)
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
    let bits = AccessBits(created, directory: directory)
    if let existing {
      existing.file.setWord(HeaderWord.isReplaced, to: 1)
      bits.add(existing.ownCounters)
    }
    return bits
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

  /// This file or the one that has replaced it.
  private var current: AccessBits {
    guard file.word(HeaderWord.isReplaced) != 0 else { return self }
    if let known = successor.load() { return known.current }
    // Only a larger file replaces one, so this does not recurse endlessly.
    guard let found = AccessBits(directory: directory), found.slotCount > slotCount else {
      return self
    }
    return successor.storeIfNil(found).current
  }

  // MARK: - Bits

  /// Sets the bit of a record. Writes nothing if it is already set, so that processors can share
  /// the cache lines of frequently accessed records.
  func set(for key: ContentKey) {
    let bits = current
    let (slot, mark) = (bits.slot(of: key), Self.mark(of: key))
    if bits.file.byte(slot) != mark { bits.file.setByte(slot, to: mark) }
  }

  /// Whether a record was accessed since its bit was last cleared.
  func isSet(for key: ContentKey) -> Bool {
    let bits = current
    return bits.file.byte(bits.slot(of: key)) == Self.mark(of: key)
  }

  /// Clears the bit of a record. A concurrent access may be lost.
  func clear(for key: ContentKey) {
    let bits = current
    if bits.isSet(for: key) { bits.file.setByte(bits.slot(of: key), to: 0) }
  }

  private func slot(of key: ContentKey) -> Int {
    Self.headerByteCount + Int(truncatingIfNeeded: key.leadingBits) & (slotCount - 1)
  }

  /// From bits of the key that do not select the slot; never 0.
  private static func mark(of key: ContentKey) -> UInt8 {
    max(1, UInt8(truncatingIfNeeded: key.leadingBits >> 56))
  }

  // MARK: - Counters

  var counters: CacheStatistics.Counters { current.ownCounters }

  private var ownCounters: CacheStatistics.Counters {
    var counters = CacheStatistics.Counters()
    counters.hits = count(of: .hits)
    counters.misses = count(of: .misses)
    counters.stores = count(of: .stores)
    counters.evictions = count(of: .evictions)
    counters.expiredRemovals = count(of: .expiredRemovals)
    counters.damagedRemovals = count(of: .damagedRemovals)
    return counters
  }

  /// Adds counts, with at most one atomic addition for each counter.
  func add(_ counters: CacheStatistics.Counters) {
    let bits = current
    bits.add(counters.hits, to: .hits)
    bits.add(counters.misses, to: .misses)
    bits.add(counters.stores, to: .stores)
    bits.add(counters.evictions, to: .evictions)
    bits.add(counters.expiredRemovals, to: .expiredRemovals)
    bits.add(counters.damagedRemovals, to: .damagedRemovals)
  }

  private func count(of counter: Counter) -> UInt64 {
    file.word(counter.word)
  }

  private func add(_ amount: UInt64, to counter: Counter) {
    if amount > 0 { file.add(amount, toWord: counter.word) }
  }

  private static func path(in directory: String) -> String {
    "\(directory)/\(fileName)"
  }
}

/// Which accesses a read records. Every requested picture counts once, as a hit or as a miss.
package enum AccessRecording: Sendable {
  /// The picture is requested here and nowhere else.
  case hitsAndMisses
  /// After a miss here, a worker makes the picture, and its look-up counts.
  case hits
  /// The request is counted elsewhere, or there is none: a delivery, an export, a listing.
  case none
}

/// Records accesses: sets access bits and counts hits and misses.
struct AccessRecorder: Sendable {
  /// `nil` if this process cannot record accesses.
  private let bits: AccessBits?

  init(_ bits: AccessBits?) {
    self.bits = bits
  }

  /// Records look-ups; the results are in the order of the keys.
  func record(_ keys: [ContentKey], _ lookups: [StoreLookup]) {
    guard let bits else { return }
    var counters = CacheStatistics.Counters()
    for (key, lookup) in zip(keys, lookups) {
      if case .hit = lookup {
        bits.set(for: key)
        counters.hits += 1
      } else {
        counters.misses += 1
      }
    }
    bits.add(counters)
  }

  /// Records one read.
  func record(_ key: ContentKey, isHit: Bool, _ recording: AccessRecording) {
    guard let bits else { return }
    var counters = CacheStatistics.Counters()
    switch (recording, isHit) {
    case (.hitsAndMisses, true), (.hits, true):
      bits.set(for: key)
      counters.hits = 1
    case (.hitsAndMisses, false):
      counters.misses = 1
    case (.hits, false), (.none, _):
      return
    }
    bits.add(counters)
  }
}
