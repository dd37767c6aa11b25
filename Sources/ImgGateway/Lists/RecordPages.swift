import ImgClient
import ImgModel

/// The thumbnails of the store that a list has, page after page in the order of their records.
struct RecordPages {
  /// The store is read in parts of as many records.
  private static let partCount = 256

  private let transport: any CacheTransport
  private let filter: URLFilter
  /// The pictures of a page.
  private let limit: Int
  private let now: WallTime
  /// The last record that was examined; `nil` before the first one.
  private(set) var last: CacheRecord.ID?
  /// Records that were read and not examined.
  private var part: ArraySlice<CacheRecord> = []
  private var hasMoreParts = true

  /// - Parameter now: thumbnails that have expired are left out.
  init(_ transport: any CacheTransport, _ query: ListQuery, now: WallTime) {
    self.transport = transport
    filter = URLFilter(query.text)
    limit = query.limit
    self.now = now
    if case .record(let id) = query.after { last = id }
  }

  /// Whether all records were examined.
  var isComplete: Bool { part.isEmpty && !hasMoreParts }

  /// The next page, with fewer pictures, maybe none, if the budget is spent.
  mutating func next(within budget: inout SearchBudget) async throws(ImageError) -> [CacheRecord] {
    var pictures = DistinctPictures()
    while true {
      if part.isEmpty {
        guard hasMoreParts, !budget.isSpent else { break }
        try await readPart(&budget)
      }
      guard let record = part.first, !isListed(record) || pictures.add(record, limit: limit) else {
        break
      }
      last = record.id
      part.removeFirst()
    }
    return pictures.records
  }

  /// Passes over the pages before one.
  ///
  /// - Parameter number: of that page.
  /// - Throws: ``ImageError/Code/invalidRequest`` if the budget is spent before.
  mutating func skip(
    to number: Int, within budget: SearchBudget
  ) async throws(ImageError) {
    var budget = budget
    var skippedCount = 0
    while skippedCount < number - 1, !isComplete {
      _ = try await next(within: &budget)
      // A page ends before a record, at the end of the store, or with the budget.
      guard isComplete || !part.isEmpty else { throw .tooFarPage(number) }
      skippedCount += 1
    }
  }

  private mutating func readPart(_ budget: inout SearchBudget) async throws(ImageError) {
    let records = try await transport.records(after: last, limit: Self.partCount)
    hasMoreParts = records.count == Self.partCount
    part = records[...]
    budget.spend(records.count, comparing: records.lazy.map(\.url))
  }

  private func isListed(_ record: CacheRecord) -> Bool {
    record.isThumbnail(at: now) && filter.matches(record.url)
  }
}

/// The records of a page. Of several sizes of one picture that come together, the largest one is there, in
/// the place of the first one.
private struct DistinctPictures {
  private(set) var records: [CacheRecord] = []
  private var indices: [String: Int] = [:]

  /// - Returns: whether there was room.
  mutating func add(_ record: CacheRecord, limit: Int) -> Bool {
    if let index = indices[record.url] {
      if record.longerSide > records[index].longerSide { records[index] = record }
      return true
    }
    guard records.count < limit else { return false }
    indices[record.url] = records.count
    records.append(record)
    return true
  }
}

extension CacheRecord {
  fileprivate var longerSide: Int { max(width, height) }
}

extension ImageError {
  /// A page that is not found by its number, because too much comes before it.
  static func tooFarPage(_ number: Int) -> ImageError {
    ImageError(
      code: .invalidRequest,
      message: "page \(number) is too far from the start to be found by its number; "
        + "follow the field Link of an earlier page, whose target has after=")
  }
}
