import ImgModel

/// The pins of jobs, see `PinPolicy`: who pins a record is in its entry of the order of arrival, and how much
/// each job pins is in the table `pins`.
extension ThumbnailTables {
  /// How much a job pins; all jobs together for `nil`.
  func pinTotals(
    of job: JobID? = nil, _ transaction: borrowing Transaction
  ) throws(StoreError) -> RecordTotals {
    let key = job.map(RecordTotals.key) ?? RecordTotals.keyOfAll
    return try transaction.withValue(of: key, in: pins) { RecordTotals($0) } ?? RecordTotals()
  }

  /// The jobs that pin records, in ascending order.
  func pinningJobs(
    limit: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) -> [JobID] {
    var jobs: [JobID] = []
    try transaction.scan(pins) { key, _ in
      guard key.count == MemoryLayout<UInt64>.size else { return true }
      let job = key.bigEndian(at: 0, as: UInt64.self)
      if job > 0 { jobs.append(JobID(rawValue: job)) }
      return jobs.count < limit
    }
    return jobs
  }

  /// How many records each job pins.
  func pinCounts(_ transaction: borrowing Transaction) throws(StoreError) -> [JobID: Int] {
    var counts: [JobID: Int] = [:]
    try transaction.scan(pins) { key, value in
      guard key.count == MemoryLayout<UInt64>.size else { return true }
      let job = JobID(rawValue: key.bigEndian(at: 0, as: UInt64.self))
      if job != PinCounts.allJobs { counts[job] = RecordTotals(value).recordCount }
      return true
    }
    return counts
  }

  // MARK: - One record

  /// The jobs that pin a record, in ascending order; none if there is no such record.
  func pinningJobs(
    of key: ContentKey, _ transaction: borrowing Transaction
  ) throws(StoreError) -> [JobID] {
    try entries(of: key, transaction)?.arrival.pin?.jobs ?? []
  }

  /// Pins a record for jobs.
  ///
  /// - Parameter counts: gets what ``add(_:_:)`` has to count.
  /// - Returns: `false` if there is no such record, or it has expired.
  func pin(
    _ key: ContentKey, for jobs: [JobID], at now: WallTime, _ counts: inout PinCounts,
    _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    guard let (expiry, arrival) = try entries(of: key, transaction), expiry.expiresAt > now else {
      return false
    }
    let present = arrival.pin?.jobs ?? []
    let added = jobs.filter { !present.contains($0) }
    guard !added.isEmpty else { return true }
    let pin = ArrivalEntry.Pin(
      byteCount: arrival.pin?.byteCount ?? StoreReport.footprint(ofRecord: expiry.byteCount),
      jobs: (present + added).sorted())
    try move(arrival, of: expiry, pinnedBy: pin, transaction)
    counts.add(added, pin.byteCount, by: 1, isOfAll: present.isEmpty)
    return true
  }

  /// Removes the pin of a job. A record that no job pins any more becomes the newest of those that may be
  /// evicted.
  ///
  /// - Parameter counts: gets what ``add(_:_:)`` has to count.
  func unpin(
    _ key: ContentKey, for job: JobID, _ counts: inout PinCounts,
    _ transaction: borrowing Transaction
  ) throws(StoreError) {
    guard let (expiry, arrival) = try entries(of: key, transaction), let pin = arrival.pin,
      pin.jobs.contains(job)
    else { return }
    let rest = pin.jobs.filter { $0 != job }
    let restPin = rest.isEmpty ? nil : ArrivalEntry.Pin(byteCount: pin.byteCount, jobs: rest)
    try move(arrival, of: expiry, pinnedBy: restPin, transaction)
    counts.add([job], pin.byteCount, by: -1, isOfAll: rest.isEmpty)
  }

  /// Removes pins of a job, those of some records at a time.
  ///
  /// - Parameters:
  ///   - cursor: a new one for the first records, and later that of the last call.
  ///   - limit: the maximum number of records that are looked at.
  /// - Returns: whether the job pins nothing any more.
  func unpinAll(
    of job: JobID, at cursor: inout PinCursor, limit: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    if try pinTotals(of: job, transaction).recordCount == 0 {
      try transaction.delete(RecordTotals.key(of: job), from: pins)
      return true
    }
    let slice = try arrivals(
      from: max(cursor.sequence, ArrivalEntry.firstPinnedSequence), limit: limit, transaction)
    var counts = PinCounts()
    for entry in slice.entries where entry.pin?.jobs.contains(job) == true {
      try unpin(entry.key, for: job, &counts, transaction)
      cursor.hasUnpinned = true
    }
    try add(counts, transaction)
    if slice.count == limit, let last = slice.entries.last {
      cursor.sequence = last.sequence + 1
      return false
    }
    // What a put has pinned meanwhile may lie behind the cursor. Where all records were looked at for nothing,
    // damaged entries have left what is still counted.
    if !cursor.hasUnpinned { try transaction.delete(RecordTotals.key(of: job), from: pins) }
    cursor = PinCursor()
    return try pinTotals(of: job, transaction).recordCount == 0
  }

  /// Removes the entry of a record in the order of arrival, with its pins.
  ///
  /// - Returns: the entry; `nil` if there is none.
  @discardableResult
  func removeArrival(
    _ sequence: UInt64, _ transaction: borrowing Transaction
  ) throws(StoreError) -> ArrivalEntry? {
    let entry = try arrival(sequence, transaction)
    if let pin = entry?.pin { try add(PinCounts(pin, by: -1), transaction) }
    if let byteCount = entry?.spareByteCount { try countSpare(byteCount, by: -1, transaction) }
    try transaction.delete(ArrivalEntry.encodedKey(sequence), from: arrivals)
    return entry
  }

  /// Adds the entry of a new record in the order of arrival.
  ///
  /// - Parameter entry: with the ``nextSequence(in:_:)``.
  func addArrival(
    _ entry: ArrivalEntry, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    try addLast(entry, transaction)
    if let byteCount = entry.spareByteCount { try countSpare(byteCount, by: 1, transaction) }
    if let pin = entry.pin { try add(PinCounts(pin, by: 1), transaction) }
  }

  /// `nil` also for an invalid entry.
  func arrival(
    _ sequence: UInt64, _ transaction: borrowing Transaction
  ) throws(StoreError) -> ArrivalEntry? {
    let key = ArrivalEntry.encodedKey(sequence)
    return try transaction.withValue(of: key, in: arrivals) { value in
      ArrivalEntry(key: key.span, value: value)
    } ?? nil
  }

  // MARK: - Entries

  private func entries(
    of key: ContentKey, _ transaction: borrowing Transaction
  ) throws(StoreError) -> (expiry: ExpiryEntry, arrival: ArrivalEntry)? {
    let found = try withRecord(of: key, transaction) { ThumbnailRecord.expiresAt(of: $0) }
    guard let expiresAt = found ?? nil,
      let expiry = try expiryEntry(of: key, expiresAt: expiresAt, transaction),
      let arrival = try arrival(expiry.sequence, transaction)
    else { return nil }
    return (expiry, arrival)
  }

  /// Moves a record to the part of the order of arrival where its pins belong.
  private func move(
    _ arrival: ArrivalEntry, of expiryEntry: ExpiryEntry, pinnedBy pin: ArrivalEntry.Pin?,
    _ transaction: borrowing Transaction
  ) throws(StoreError) {
    guard (pin == nil) != (arrival.pin == nil) else {
      let changed = ArrivalEntry(
        sequence: arrival.sequence, key: arrival.key, expiresAt: arrival.expiresAt, pin: pin)
      return try transaction.put(changed.encodedValue, for: changed.encodedKey, in: arrivals)
    }
    let sequence = try nextSequence(in: pin != nil ? .pinned : .ordinary, transaction)
    try transaction.delete(arrival.encodedKey, from: arrivals)
    if let byteCount = arrival.spareByteCount { try countSpare(byteCount, by: -1, transaction) }
    try addLast(
      ArrivalEntry(
        sequence: sequence, key: arrival.key, expiresAt: arrival.expiresAt, pin: pin), transaction)
    try transaction.put(
      expiryEntry.moved(to: sequence).encodedValue, for: expiryEntry.encodedKey, in: expiry)
  }

  /// Counts records in or out of what jobs pin.
  func add(_ counts: PinCounts, _ transaction: borrowing Transaction) throws(StoreError) {
    for (job, change) in counts.changes {
      var totals = try pinTotals(of: job, transaction)
      totals.add(change.byteCount, recordCount: change.recordCount)
      let key = RecordTotals.key(of: job)
      if totals.recordCount == 0 {
        try transaction.delete(key, from: pins)
      } else {
        try transaction.put(totals.encodedValue, for: key, in: pins)
      }
    }
  }
}

/// Spare originals, see `Keep.auto`: they are the first in the order of arrival, and `meta` has what they take.
extension ThumbnailTables {
  static let spareKey = Array("spare".utf8)

  func spareTotals(_ transaction: borrowing Transaction) throws(StoreError) -> RecordTotals {
    try transaction.withValue(of: Self.spareKey, in: meta) { RecordTotals($0) } ?? RecordTotals()
  }

  /// Whether there is such a record, and it is spare.
  func isSpare(
    _ key: ContentKey, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    try entries(of: key, transaction)?.arrival.spareByteCount != nil
  }

  /// Removes the oldest spare originals until they take no more than that.
  func trimSpares(
    to allowanceByteCount: Int64, _ transaction: borrowing Transaction,
    counting counters: inout CacheStatistics.Counters
  ) throws(StoreError) {
    while try spareTotals(transaction).byteCount > allowanceByteCount {
      let slice = try arrivals(from: 1, limit: 1, transaction)
      guard let entry = slice.entries.first, entry.spareByteCount != nil else {
        // Eviction removes an invalid entry. Without any entry, damaged ones have left what is still counted.
        if slice.invalidKeys.isEmpty { try transaction.delete(Self.spareKey, from: meta) }
        return
      }
      _ = try remove(entry, transaction)
      counters.evictions += 1
    }
  }

  /// Counts a record in or out.
  private func countSpare(
    _ byteCount: Int64, by change: Int, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    var totals = try spareTotals(transaction)
    totals.add(byteCount * Int64(change), recordCount: change)
    try transaction.put(totals.encodedValue, for: Self.spareKey, in: meta)
  }
}

/// How far the pins of a job were removed.
package struct PinCursor: Sendable {
  /// Where to go on in the order of pinned records.
  fileprivate var sequence: UInt64 = 0
  /// Whether a record since the first one was pinned.
  fileprivate var hasUnpinned = false

  package init() {}
}

/// What one transaction changes in the totals of jobs. They are written once for all its records.
struct PinCounts {
  /// The number of the entry that counts the records which any job pins.
  static let allJobs = JobID(rawValue: 0)

  private(set) var changes: [JobID: (byteCount: Int64, recordCount: Int)] = [:]

  init() {}

  /// A whole record comes or goes.
  init(_ pin: ArrivalEntry.Pin, by recordCount: Int) {
    add(pin.jobs, pin.byteCount, by: recordCount, isOfAll: true)
  }

  /// - Parameters:
  ///   - byteCount: of one record.
  ///   - isOfAll: whether no job pinned the record before, or none pins it any more.
  mutating func add(_ jobs: [JobID], _ byteCount: Int64, by recordCount: Int, isOfAll: Bool) {
    for job in jobs { add(job, byteCount, by: recordCount) }
    if isOfAll { add(Self.allJobs, byteCount, by: recordCount) }
  }

  private mutating func add(_ job: JobID, _ byteCount: Int64, by recordCount: Int) {
    let former = changes[job] ?? (0, 0)
    changes[job] = (
      former.byteCount + byteCount * Int64(recordCount), former.recordCount + recordCount
    )
  }
}

/// How many records there are of a kind, and what they take. An entry of the table `pins`: the records that a job
/// pins, or all jobs together.
///
/// | | bytes | field |
/// |---|---|---|
/// | key | 8 | job, big-endian; 0 for the records that any job pins |
/// | value | 8 | records, little-endian |
/// | value | 8 | what they take, see `StoreReport.footprint(ofRecord:)`, little-endian |
package struct RecordTotals: Hashable, Sendable {
  package var recordCount = 0
  package var byteCount: Int64 = 0

  static let keyOfAll = key(of: PinCounts.allJobs)

  static func key(of job: JobID) -> [UInt8] {
    var key: [UInt8] = []
    key.append(bigEndian: job.rawValue)
    return key
  }

  init() {}

  /// Counts records in or out.
  mutating func add(_ byteCount: Int64, recordCount: Int) {
    self.recordCount = max(0, self.recordCount + recordCount)
    self.byteCount = max(0, self.byteCount + byteCount)
  }

  /// An invalid entry counts as none: the next removal of all pins of the job removes it.
  init(_ value: Span<UInt8>) {
    guard value.count == 16 else { return }
    recordCount = Int(clamping: value.littleEndian(at: 0, as: Int64.self))
    byteCount = value.littleEndian(at: 8, as: Int64.self)
  }

  var encodedValue: [UInt8] {
    var value: [UInt8] = []
    value.append(littleEndian: Int64(recordCount))
    value.append(littleEndian: byteCount)
    return value
  }
}
