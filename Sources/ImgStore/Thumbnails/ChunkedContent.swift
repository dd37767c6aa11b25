import Glibc
package import ImgModel
import ImgSystem

/// A content that is too long for its record. It is stored in chunks, which the record names by a number.
///
/// LMDB holds all pages that a transaction writes in memory until the commit, and all other writers wait for the
/// commit. So a transaction writes a few chunks only. The last one stores the record, and makes the content
/// visible. Until then an entry of the table names the content as unfinished. If its writer is killed, the
/// chunks are removed some minutes later.
package struct ChunkedContent: Hashable, Sendable {
  /// Random, so that no reader takes a chunk of another content for one of this.
  let number: UInt64
  package let byteCount: Int

  /// A longer content is stored in chunks.
  package static let maximumRecordByteCount = 4 << 20
  /// With its header, and LMDB's in the first page, a chunk fills its pages.
  static let chunkByteCount = (1 << 20) - 16 - ChunkRecord.headerByteCount
  /// The most bytes that one transaction writes.
  package static let groupByteCount = 4 * chunkByteCount
  /// How long after its last chunk an unfinished content is removed. Its writer may wait for others, each of
  /// which writes a group.
  static let unfinishedLifetime = Duration.seconds(600)

  /// A new content.
  package init(byteCount: Int) {
    self.init(number: .random(in: 1...UInt64.max), byteCount: byteCount)
  }

  init(number: UInt64, byteCount: Int) {
    self.number = number
    self.byteCount = byteCount
  }

  var chunkCount: Int { (byteCount + Self.chunkByteCount - 1) / Self.chunkByteCount }

  func range(ofChunk index: Int) -> Range<Int> {
    let start = index * Self.chunkByteCount
    return start..<min(start + Self.chunkByteCount, byteCount)
  }
}

/// The content of a record to store.
package enum NewContent: Hashable, Sendable {
  case bytes([UInt8])
  /// All chunks are stored.
  case chunks(ChunkedContent)

  package var byteCount: Int {
    switch self {
    case .bytes(let bytes): bytes.count
    case .chunks(let content): content.byteCount
    }
  }
}

/// An entry of the table `chunks`: a chunk, or the mark of an unfinished content.
///
/// | | bytes | field |
/// |---|---|---|
/// | key of a chunk | 8 | number of the content, big-endian |
/// | | 4 | index of the chunk, big-endian |
/// | value | 8 | XXH3-64 of everything behind it, little-endian |
/// | value | 32 | content key of the record |
/// | value | | the bytes |
/// | key of a mark | 8 | zero |
/// | | 8 | number of the content, big-endian |
/// | value | 8 | when the last chunk was stored, milliseconds since 1970, little-endian |
enum ChunkRecord {
  static let headerByteCount = RecordChecksum.byteCount + ContentKey.byteCount
  private static let markPrefix = UInt64(0)

  static func key(_ index: Int, of number: UInt64) -> [UInt8] {
    var key: [UInt8] = []
    key.append(bigEndian: number)
    key.append(bigEndian: UInt32(index))
    return key
  }

  static func markKey(of number: UInt64) -> [UInt8] {
    var key: [UInt8] = []
    key.append(bigEndian: markPrefix)
    key.append(bigEndian: number)
    return key
  }

  /// The number of the content to which a chunk or a mark belongs; `nil` for an invalid key.
  static func number(ofKey key: Span<UInt8>) -> UInt64? {
    switch key.count {
    case 12: key.bigEndian(at: 0, as: UInt64.self)
    case 16 where isMark(key): key.bigEndian(at: 8, as: UInt64.self)
    default: nil
    }
  }

  static func isMark(_ key: Span<UInt8>) -> Bool {
    key.count == 16 && key.bigEndian(at: 0, as: UInt64.self) == markPrefix
  }

  static func write(_ bytes: Span<UInt8>, owner: ContentKey, into value: inout MutableSpan<UInt8>) {
    owner.withBytes { value.write($0, at: RecordChecksum.byteCount) }
    value.write(bytes, at: headerByteCount)
    RecordChecksum.write(into: &value)
  }

  /// - Returns: `nil` for a damaged chunk.
  static func verified(_ value: Span<UInt8>) -> (owner: ContentKey, byteCount: Int)? {
    guard value.count >= headerByteCount, RecordChecksum.isRight(of: value) else { return nil }
    let owner = value.extracting(RecordChecksum.byteCount..<headerByteCount)
    return (ContentKey(owner), value.count - headerByteCount)
  }
}

extension ThumbnailTables {
  // MARK: - Writing

  /// Marks a content as unfinished, as of now.
  func mark(
    _ content: ChunkedContent, at now: WallTime, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    var value: [UInt8] = []
    value.append(littleEndian: now.rawValue)
    try transaction.put(value, for: ChunkRecord.markKey(of: content.number), in: chunks)
  }

  func isUnfinished(
    _ number: UInt64, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    try transaction.withValue(of: ChunkRecord.markKey(of: number), in: chunks) { _ in true }
      ?? false
  }

  /// - Returns: `false` if the content is not there, or finished.
  func finish(
    _ content: ChunkedContent, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    try transaction.delete(ChunkRecord.markKey(of: content.number), from: chunks)
  }

  /// - Returns: `false` if the content has the chunk.
  func putChunk(
    _ bytes: Span<UInt8>, _ index: Int, of content: ChunkedContent, owner: ContentKey,
    _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    let key = ChunkRecord.key(index, of: content.number)
    return try transaction.insert(
      byteCount: ChunkRecord.headerByteCount + bytes.count, for: key.span, in: chunks
    ) { value in
      ChunkRecord.write(bytes, owner: owner, into: &value)
    }
  }

  // MARK: - Reading

  /// Calls `body` with a chunk and the memory that it takes; `nil` if it is damaged or not there.
  func withChunk<Result>(
    _ index: Int, of content: ChunkedContent, owner: ContentKey,
    _ transaction: borrowing Transaction, _ body: (Span<UInt8>) throws(StoreError) -> Result
  ) throws(StoreError) -> Result? {
    let key = ChunkRecord.key(index, of: content.number)
    return try transaction.withValue(of: key, in: chunks) { value throws(StoreError) -> Result? in
      guard let found = ChunkRecord.verified(value), found.owner == owner,
        found.byteCount == content.range(ofChunk: index).count
      else { return nil }
      return try body(value.extracting(droppingFirst: ChunkRecord.headerByteCount))
    } ?? nil
  }

  /// Whether all chunks are there and intact.
  func isIntact(
    _ content: ChunkedContent, owner: ContentKey, _ transaction: borrowing Transaction
  ) throws(StoreError) -> Bool {
    for index in 0..<content.chunkCount {
      let isIntact = try withChunk(index, of: content, owner: owner, transaction) { _ in true }
      if isIntact == nil { return false }
    }
    return true
  }

  // MARK: - Removing

  func removeChunks(
    of number: UInt64, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    var keys = [ChunkRecord.markKey(of: number)]
    try transaction.scan(chunks, from: ChunkRecord.key(0, of: number)) { key, _ in
      guard ChunkRecord.number(ofKey: key) == number else { return false }
      keys.append(key.copy())
      return true
    }
    for key in keys { try transaction.delete(key, from: chunks) }
  }

  /// Removes the contents whose writers have not gone on for some minutes.
  func removeAbandonedChunks(
    at now: WallTime, _ transaction: borrowing Transaction
  ) throws(StoreError) {
    for number in try abandonedContents(at: now, transaction) {
      try removeChunks(of: number, transaction)
    }
  }

  func abandonedContents(
    at now: WallTime, _ transaction: borrowing Transaction
  ) throws(StoreError) -> [UInt64] {
    var found: [UInt64] = []
    try transaction.scan(chunks) { key, value in
      guard ChunkRecord.isMark(key), let number = ChunkRecord.number(ofKey: key) else {
        return false
      }
      guard value.count == 8 else {
        found.append(number)
        return true
      }
      let age = WallTime(rawValue: value.littleEndian(at: 0, as: Int64.self)).duration(to: now)
      let lifetime = ChunkedContent.unfinishedLifetime
      // A time far ahead means that the clock was set back.
      if !(.zero - lifetime..<lifetime).contains(age) { found.append(number) }
      return true
    }
    return found
  }

  /// The defect of an entry of the table `chunks`; `nil` if it is intact, and of a record or unfinished.
  func defect(
    ofChunk key: Span<UInt8>, _ value: Span<UInt8>, _ transaction: borrowing Transaction
  ) throws(StoreError) -> StoreDefect.Reason? {
    guard let number = ChunkRecord.number(ofKey: key) else { return .invalid }
    if ChunkRecord.isMark(key) { return value.count == 8 ? nil : .invalid }
    guard let found = ChunkRecord.verified(value) else { return .damaged }
    if try isUnfinished(number, transaction) { return nil }
    let named = try withRecord(of: found.owner, transaction) {
      ThumbnailRecord.chunkedContent(of: $0)?.number
    }
    return named == number ? nil : .withoutRecord
  }
}

extension ThumbnailStore {
  /// Stores chunks of a content, up to the record that ``put(_:extending:sparePercent:at:)`` stores. The first chunks
  /// begin it. If one cannot be stored, all are removed.
  ///
  /// - Parameters:
  ///   - bytes: ``ChunkedContent/groupByteCount``; fewer at the end of the content.
  ///   - offset: their place in the content.
  ///   - key: of the record.
  /// - Throws: ``StoreError/Reason/tooLarge`` if the content exceeds the budget,
  ///   ``StoreError/Reason/pinned`` if it exceeds what pinned records leave of it,
  ///   ``StoreError/Reason/full`` if the disk or the map is full; ``StoreError/Reason/replaced`` if its earlier
  ///   chunks were removed meanwhile.
  package func putChunks(
    _ bytes: [UInt8], at offset: Int, of content: ChunkedContent, for key: ContentKey,
    at now: WallTime
  ) throws(StoreError) {
    precondition(offset % ChunkedContent.chunkByteCount == 0, "a chunk begins elsewhere")
    precondition(
      bytes.count == min(ChunkedContent.groupByteCount, content.byteCount - offset),
      "a chunk is incomplete")
    if offset == 0 { try requireRoom(for: content) }
    do throws(StoreError) {
      do throws(StoreError) {
        try writeChunks(bytes, at: offset, of: content, for: key, at: now)
      } catch {
        guard error.reason == .full, try makeRoom(byteCount: bytes.count) else { throw error }
        try writeChunks(bytes, at: offset, of: content, for: key, at: now)
      }
    } catch {
      // What cannot be removed now is removed when it is abandoned.
      try? removeChunks(of: content)
      throw error
    }
  }

  private func writeChunks(
    _ bytes: [UInt8], at offset: Int, of content: ChunkedContent, for key: ContentKey,
    at now: WallTime
  ) throws(StoreError) {
    try change(makingRoomFor: Eviction.Newcomers(keys: [], arrival: now)) {
      transaction, _ throws(StoreError) in
      if offset > 0, try !tables.isUnfinished(content.number, transaction) {
        throw StoreError(.replaced, operation: "continuing a content that was removed")
      }
      try tables.mark(content, at: now, transaction)
      let first = offset / ChunkedContent.chunkByteCount
      for start in stride(from: 0, to: bytes.count, by: ChunkedContent.chunkByteCount) {
        let end = min(start + ChunkedContent.chunkByteCount, bytes.count)
        let index = first + start / ChunkedContent.chunkByteCount
        _ = try tables.putChunk(
          bytes.span.extracting(start..<end), index, of: content, owner: key, transaction)
      }
    }
  }

  /// Before anything is evicted for it.
  private func requireRoom(for content: ChunkedContent) throws(StoreError) {
    let budget = try budget
    let byteCount = StoreReport.footprint(ofRecord: Int64(content.byteCount))
    guard byteCount <= budget.configuredByteCount else {
      throw StoreError(
        .largerThanBudget,
        operation: "put, \(byteCount) bytes in a budget of \(budget.configuredByteCount)",
        path: environment.directory)
    }
    guard byteCount <= budget.effectiveByteCount else {
      throw StoreError(
        .noSpace, operation: "put, more than the disk has room for", path: environment.directory)
    }
    let pinned = try environment.read { transaction throws(StoreError) in
      try tables.pinTotals(transaction).byteCount
    }
    guard byteCount <= budget.effectiveByteCount - pinned else {
      throw StoreError(
        .pinned, operation: "put, beside pinned thumbnails", path: environment.directory,
        isOfDisk: budget.isLimitedByDisk)
    }
  }

  /// Removes the chunks of a content that gets no record.
  package func removeChunks(of content: ChunkedContent) throws(StoreError) {
    try change { transaction, _ throws(StoreError) in
      try tables.removeChunks(of: content.number, transaction)
    }
  }

  // MARK: - Reading

  /// Calls `body` with the content of a record and its place there, from the start on: with all of it or, of a
  /// chunked content, with one chunk after the other, until it returns `false`.
  ///
  /// `body` must be short and must not use a store. It runs on one snapshot for each chunk, so that a long
  /// content does not pin freed pages. The pages of a chunk do not stay in the memory of this process.
  ///
  /// - Returns: the record; `nil` without a hit, and if a chunk is damaged or was removed meanwhile.
  package func readContent(
    of key: ContentKey, at now: WallTime, recordingAccess: AccessRecording = .hitsAndMisses,
    _ body: (CacheRecord, _ offset: Int, Span<UInt8>) -> Bool
  ) throws(StoreError) -> CacheRecord? {
    var found: (record: CacheRecord, content: ChunkedContent?)?
    let isHit = try withRecord(of: key, at: now) { record, content, bytes in
      found = (record, content)
      if content == nil { _ = body(record, 0, bytes) }
    }
    record(key, isHit: isHit, recordingAccess)
    guard let found, let content = found.content else { return found?.record }
    for index in 0..<content.chunkCount {
      let goesOn = try withChunk(index, of: content, for: key) { bytes in
        body(found.record, content.range(ofChunk: index).lowerBound, bytes)
      }
      guard let goesOn else { return nil }
      guard goesOn else { break }
    }
    return found.record
  }

  /// A record and a copy of its content; `nil` without a hit, and if the content is damaged or was removed
  /// meanwhile.
  ///
  /// - Parameter isWanted: whether the content is copied; else it is empty.
  package func contents(
    of key: ContentKey, at now: WallTime, recordingAccess: AccessRecording = .hitsAndMisses,
    where isWanted: (CacheRecord) -> Bool = { _ in true }
  ) throws(StoreError) -> (record: CacheRecord, bytes: [UInt8])? {
    var copy: [UInt8] = []
    let record = try readContent(of: key, at: now, recordingAccess: recordingAccess) {
      record, offset, bytes in
      guard isWanted(record) else { return false }
      if offset == 0 { copy.reserveCapacity(record.thumbnail.byteCount) }
      copy.append(copying: bytes)
      return true
    }
    return record.map { ($0, copy) }
  }

  /// Where the content of a record is, for reads of parts of it; `nil` without a hit, and for one that is not in
  /// chunks.
  package func chunkedContent(
    of key: ContentKey, at now: WallTime
  ) throws(StoreError) -> (record: CacheRecord, content: ChunkedContent)? {
    var found: (CacheRecord, ChunkedContent)?
    _ = try withRecord(of: key, at: now) { record, content, _ in
      found = content.map { (record, $0) }
    }
    return found
  }

  /// A part of a chunked content; `nil` if it is damaged or was removed meanwhile.
  package func bytes(
    in range: Range<Int>, of content: ChunkedContent, for key: ContentKey
  ) throws(StoreError) -> [UInt8]? {
    var copy: [UInt8] = []
    copy.reserveCapacity(range.count)
    while copy.count < range.count {
      let start = range.lowerBound + copy.count
      let index = start / ChunkedContent.chunkByteCount
      let chunk = content.range(ofChunk: index)
      let part =
        (start - chunk.lowerBound)..<(min(range.upperBound, chunk.upperBound) - chunk.lowerBound)
      let isThere = try withChunk(index, of: content, for: key) { bytes in
        copy.append(copying: bytes.extracting(part))
        return true
      }
      guard isThere != nil else { return nil }
    }
    return copy
  }

  private func withChunk(
    _ index: Int, of content: ChunkedContent, for key: ContentKey, _ body: (Span<UInt8>) -> Bool
  ) throws(StoreError) -> Bool? {
    try environment.withSnapshot { transaction throws(StoreError) in
      try tables.withChunk(index, of: content, owner: key, transaction) { bytes in
        defer { unmapPages(of: bytes) }
        return body(bytes)
      }
    }
  }

  /// Takes whole pages of the map out of the memory of this process. They stay in the page cache, and are mapped
  /// again at the next access (madvise(2)).
  ///
  /// - Precondition: the transaction is read-only. A writer's pages are in no file yet.
  private func unmapPages(of bytes: Span<UInt8>) {
    unsafe bytes.withUnsafeBytes { memory in
      let pageByteCount = UInt(ThisProcess.pageByteCount)
      let start = UInt(bitPattern: memory.baseAddress)
      let first = (start + pageByteCount - 1) / pageByteCount * pageByteCount
      let end = (start + UInt(memory.count)) / pageByteCount * pageByteCount
      guard end > first else { return }
      unsafe madvise(UnsafeMutableRawPointer(bitPattern: first), Int(end - first), MADV_DONTNEED)
    }
  }
}
