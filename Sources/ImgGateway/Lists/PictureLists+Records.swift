import ImgClient
import ImgModel

/// The thumbnails of the store.
extension PictureLists {
  /// The records that are examined for the pages before one that is found by its number.
  private static let maximumSkippedCount = 100_000

  func recordPage(_ query: ListQuery, now: WallTime) async throws(ImageError) -> ListPage {
    var pages = RecordPages(transport, query, now: now)
    if query.after == nil {
      try await pages.skip(
        to: query.page, within: SearchBudget(count: Self.maximumSkippedCount))
    }
    var budget = SearchBudget()
    let records = try await pages.next(within: &budget)
    return ListPage(
      records.map { ListEntry($0) }, previous: query.isFiltered ? nil : query.previous,
      next: pages.isComplete ? nil : query.next(after: pages.last.map { .record($0) }))
  }

  func recordInfo(
    of id: CacheRecord.ID, now: WallTime
  ) async throws(ImageError) -> PictureInfo? {
    guard let record = try await record(id), record.isThumbnail(at: now) else { return nil }
    return PictureInfo(ListEntry(record), source: try await storedImage(of: id)?.source)
  }
}

extension CacheRecord {
  func isThumbnail(at now: WallTime) -> Bool {
    kind == .thumbnail && WallTime(expiresAt) > now
  }
}
