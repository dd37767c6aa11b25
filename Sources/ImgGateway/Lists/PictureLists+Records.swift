import ImgClient
import ImgModel

/// The thumbnails of the store.
extension PictureLists {
  /// The store is read in parts of as many records.
  private static let partCount = 256

  func recordPage(_ query: ListQuery, now: WallTime) async throws(ImageError) -> ListPage {
    var skippedCount = query.skippedCount
    var last: CacheRecord.ID?
    if case .record(let id) = query.after { last = id }
    var pictures = DistinctPictures()
    let filter = URLFilter(query.text)
    var budget = SearchBudget()
    var isComplete = false
    reading: while !isComplete, !budget.isSpent {
      let part = try await transport.records(after: last, limit: Self.partCount)
      isComplete = part.count < Self.partCount
      for record in part {
        if record.isThumbnail(at: now), filter.matches(record.url) {
          if skippedCount > 0 {
            skippedCount -= 1
          } else if !pictures.add(record, limit: query.limit) {
            isComplete = false
            break reading
          }
        }
        last = record.id
      }
      budget.spend(part.count, comparing: part.lazy.map(\.url))
    }
    return ListPage(
      pictures.records.map { ListEntry($0) }, previous: query.isFiltered ? nil : query.previous,
      next: isComplete ? nil : query.next(after: last.map { .record($0) }))
  }

  func recordInfo(
    of id: CacheRecord.ID, now: WallTime
  ) async throws(ImageError) -> PictureInfo? {
    guard let record = try await record(id), record.isThumbnail(at: now) else { return nil }
    return PictureInfo(ListEntry(record), source: try await storedImage(of: id)?.source)
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

  fileprivate func isThumbnail(at now: WallTime) -> Bool {
    kind == .thumbnail && WallTime(expiresAt) > now
  }
}
