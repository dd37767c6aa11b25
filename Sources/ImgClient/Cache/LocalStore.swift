package import ImgModel
package import ImgStore
import ImgSystem
import Synchronization

/// The store of a data directory, as this process reads and changes it without the coordinator.
///
/// Calls block. They throw what describes itself in a sentence for people, see ``CodedError``.
package struct LocalStore: Sendable {
  /// The store as this process sees it.
  package enum View: Sendable {
    case size(CacheSize)
    /// No store yet, or a damaged one, which a worker will recreate.
    case empty
    /// The reason why this process may not read it.
    case notPermitted(String)
  }

  package let directory: String
  /// Of a store that is recreated because it is damaged. Any other keeps its budget.
  private let budgetByteCount: Int64
  private let report: @Sendable (String) -> Void

  /// - Parameters:
  ///   - budgetByteCount: the budget of a store that is recreated because it is damaged.
  ///   - report: is given a sentence if a store is recreated.
  package init(
    directory: String, budgetByteCount: Int64,
    report: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.directory = directory
    self.budgetByteCount = budgetByteCount
    self.report = report
  }

  /// Whether something is in the place of the store, which may be damaged.
  package var exists: Bool { (try? FileStatus(following: directory)) != nil }

  /// The names of other stores in the same place. The user may have meant one of them.
  package var siblings: [String] {
    let names = directory.split(separator: "/")
    let place = "/" + names.dropLast().joined(separator: "/")
    let entries = (try? DirectoryListing(place))?.next(upTo: Self.siblingMaximum) ?? []
    return entries.filter { $0.kind != .other }.map { String(decoding: $0.name, as: UTF8.self) }
      .filter { $0 != names.last.map(String.init) }
  }

  private static let siblingMaximum = 10

  /// - Returns: `nil` if there is no store yet.
  func reader() throws(StoreError) -> StoreReader? {
    try OpenStores.reader(of: directory)
  }

  /// Opens the store for writing. Readers in this process wait until `body` has returned.
  ///
  /// - Returns: `nil` if there is no store yet.
  func withWriter<Result: Sendable>(_ body: (SharedStore) throws -> Result) throws -> Result? {
    guard let budgetByteCount = try currentBudgetByteCount() else { return nil }
    return try OpenStores.whileClosed(directory) {
      try body(
        SharedStore(
          directory: directory, access: .readWrite(budgetByteCount: budgetByteCount)
        ) { [report] event in report("\(event)") })
    }
  }

  private func currentBudgetByteCount() throws(StoreError) -> Int64? {
    do throws(StoreError) {
      return try reader()?.size().budgetByteCount
    } catch  where error.reason == .damaged {
      return budgetByteCount
    }
  }

  // MARK: - Facts

  package func view() throws -> View {
    do throws(StoreError) {
      guard let reader = try reader() else { return .empty }
      return .size(try reader.size())
    } catch {
      switch error.reason {
      case .damaged: return .empty
      case .notPermitted: return .notPermitted(error.description)
      default: throw error
      }
    }
  }

  /// What the records take that jobs pin. Costs a few look-ups; `nil` if there is no store, or none that can be read.
  package var pinnedByteCount: Int64? {
    (try? reader()).flatMap { try? $0.store.current().report().pinnedByteCount }
  }

  /// How many records each job pins.
  package func pinCounts() throws -> [JobID: Int] {
    try reader()?.store.current().pinCounts() ?? [:]
  }

  /// - Returns: `nil` if there is no store yet.
  package func statistics() throws -> CacheStatistics? {
    try reader()?.statistics()
  }

  /// How many records have expired at `moment` and are still there.
  package func expiredCount(at moment: WallTime) throws -> Int {
    try reader()?.expiredCount(at: moment) ?? 0
  }

  /// The records behind one, in the order of their keys.
  ///
  /// - Parameters:
  ///   - key: that of a record, which may be gone; `nil` for the first records.
  ///   - limit: the maximum number. Fewer mean the end of the list.
  func records(after key: ContentKey?, limit: Int) throws -> [CacheRecord] {
    try reader()?.store.current().thumbnails(after: key, limit: limit) ?? []
  }

  /// The thumbnail that a record is; `nil` if it is not there, has expired, or is no thumbnail.
  func thumbnail(ofRecord key: ContentKey) throws -> StoredResult? {
    try reader()?.thumbnail(key)
  }

  /// The picture as it came; `nil` if it is not kept, or has expired.
  package func original(of name: PictureName, isLenient: Bool) throws -> StoredResult? {
    try reader()?.original(of: name, isLenient: isLenient)
  }

  /// Calls `body` with every record, also expired ones, until it returns `false`.
  package func forEachRecord(_ body: (CacheRecord) throws -> Bool) throws {
    try reader()?.forEach(body)
  }
}

/// The care of the store as a whole.
extension LocalStore {
  /// Checks every record and every index entry.
  ///
  /// - Parameters:
  ///   - isRepairing: whether to remove defects after reporting them.
  ///   - report: is given each defect.
  /// - Returns: the number of records; `nil` if there is no store yet.
  package func verify(
    isRepairing: Bool, _ report: (StoreDefect) throws -> Void
  ) throws -> Int? {
    func check(_ store: SharedStore) throws -> Int {
      try store.verify(isRepairing: isRepairing, report)
    }
    return try isRepairing ? withWriter(check) : reader().map { try check($0.store) }
  }

  /// Returns the unused space of the store's file to the disk.
  ///
  /// - Returns: the size of the file in bytes before and after; `nil` if there is no store yet.
  package func compact() throws -> (before: Int64, after: Int64)? {
    try withWriter { store in
      let compaction = try store.compact()
      return (compaction.byteCountBefore, compaction.byteCountAfter)
    }
  }

  /// Removes everything from the store.
  package func reset() throws {
    _ = try withWriter { store in try store.reset() }
  }

  /// Removes the store without opening it, because to read damaged files may end the process.
  ///
  /// - Returns: `false` if another process is replacing it.
  package func removeFiles() throws -> Bool {
    try SharedStore.remove(directory)
  }
}

/// Removals of records.
extension LocalStore {
  /// Removes all records of some pictures: thumbnails in every size, originals, facts and unfinished
  /// downloads, whatever header fields requested them.
  ///
  /// - Returns: how many records, without the downloads, and how many of them each job has pinned.
  package func removeRecords(
    of names: [PictureName]
  ) throws -> (count: Int, pinned: [JobID: Int]) {
    let wanted = Set(names.map(\.text))
    var keys: [ContentKey] = []
    var pinned: [JobID: Int] = [:]
    try reader()?.forEach { stored in
      let text = stored.url
      if wanted.contains(text) || wanted.contains(String(PictureName.url(ofText: text))) {
        keys.append(stored.id)
      }
      return true
    }
    for key in keys {
      for job in try reader()?.store.current().pinningJobs(of: key) ?? [] {
        pinned[job, default: 0] += 1
      }
    }
    return (try remove(keys, partialsOf: names), pinned)
  }

  /// Removes what a request has made.
  ///
  /// - Returns: whether there was anything.
  func removeResult(of name: PictureName, for request: ThumbnailRequest) throws -> Bool {
    try remove([ContentKey(name, request)], partialsOf: []) > 0
  }

  private func remove(_ keys: [ContentKey], partialsOf names: [PictureName]) throws -> Int {
    try withWriter { store in
      try store.change { store throws(StoreError) in
        try store.removePartials(of: names)
        return try store.remove(keys)
      }
    } ?? 0
  }

  /// Removes the pins of a job from records. Does nothing if there is no store any more.
  func unpin(_ keys: [ContentKey], for job: JobID) throws {
    let limit = ThumbnailStore.expiredBatchCount
    _ = try withWriter { store in
      for start in stride(from: 0, to: keys.count, by: limit) {
        let batch = Array(keys[start...].prefix(limit))
        try store.change { store throws(StoreError) in try store.unpin(batch, for: job) }
      }
    }
  }

  /// Removes what has expired.
  ///
  /// - Returns: how many this process removed. Workers may remove some at the same time.
  package func removeExpired(at now: WallTime) throws -> Int {
    let limit = ThumbnailStore.expiredBatchCount
    return try withWriter { store in
      var total = 0
      while true {
        let removed = try store.change { store throws(StoreError) in
          try store.removeExpired(at: now, limit: limit)
        }
        total += removed
        if removed < limit { return total }
      }
    } ?? 0
  }
}

/// The stores that this process has open. LMDB forbids to open one twice in a process: the locks of one
/// opening would end with the other (lmdb.h, "Caveats").
enum OpenStores {
  private struct Entry {
    weak var store: SharedStore?
  }

  private static let entries = Mutex<[String: Entry]>([:])

  /// A reader of the store in a directory, which other readers in this process share.
  ///
  /// - Returns: `nil` when there is no store yet.
  static func reader(of directory: String) throws(StoreError) -> StoreReader? {
    try entries.withLock { entries throws(StoreError) in
      if let store = entries[directory]?.store { return StoreReader(store) }
      entries = entries.filter { $0.value.store != nil }
      let reader = try StoreReader(directory: directory)
      if let reader { entries[directory] = Entry(store: reader.store) }
      return reader
    }
  }

  /// Runs `body` while this process does not have the store open. Readers wait meanwhile.
  ///
  /// - Parameter body: may open the store, and must not ask for a reader.
  static func whileClosed<Result: Sendable>(
    _ directory: String, _ body: () throws -> Result
  ) throws -> Result {
    try entries.withLock { entries in
      guard let store = entries[directory]?.store else { return try body() }
      return try store.whileClosed(body)
    }
  }
}
