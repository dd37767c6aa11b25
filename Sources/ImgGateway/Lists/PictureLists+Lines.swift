import ImgClient
import ImgModel

/// The lines of a job.
extension PictureLists {
  func linePage(_ query: ListQuery, of id: ImageJob.ID) async throws(ImageError) -> ListPage {
    let job = try await transport.job(id)
    var skippedCount = query.skippedCount
    var start = 0
    if case .line(let index) = query.after { start = index + 1 }
    // Lines that are all there have pages by their numbers, unless a client asks for lines after one.
    let hasNumbers = !query.isFiltered && query.after == nil
    if hasNumbers { (start, skippedCount) = (skippedCount, 0) }
    var entries: [ListEntry] = []
    // No job is asked for lines that it does not have.
    var next: Int? = start < job.total ? start : nil
    let filter = URLFilter(query.text)
    var budget = SearchBudget()
    while let first = next, entries.count < query.limit, !budget.isSpent {
      let part = try await transport.jobResults(
        of: id, from: first, failedOnly: query.seeksFailures)
      next = part.next
      for result in part.results where query.matches(result) && filter.matches(result.url) {
        guard skippedCount == 0 else {
          skippedCount -= 1
          continue
        }
        guard entries.count < query.limit else {
          next = result.index
          break
        }
        entries.append(ListEntry(result, of: id))
      }
      budget.spend((part.next ?? job.total) - first, comparing: part.results.lazy.map(\.url))
    }
    guard skippedCount == 0 || next == nil else { throw .tooFarPage(query.page) }
    let request = JobLineRequest(job)
    for index in entries.indices { complete(&entries[index], request) }
    return ListPage(
      entries, previous: hasNumbers ? query.previous : nil,
      next: next.map { query.next(after: hasNumbers ? nil : .line($0 - 1)) })
  }

  func lineInfo(of id: ImageJob.ID, _ index: Int) async throws(ImageError) -> PictureInfo? {
    guard let line = try await line(index, of: id) else { return nil }
    var entry = ListEntry(line.result, of: id)
    let image = complete(&entry, JobLineRequest(line.job))
    return PictureInfo(entry, source: image?.source)
  }

  /// Adds to a line what the store has of it.
  ///
  /// - Returns: its thumbnail, without bytes; `nil` if there is none any more.
  @discardableResult
  private func complete(_ entry: inout ListEntry, _ request: JobLineRequest) -> LoadedImage? {
    guard entry.state == .done, let request = request.request(of: entry.url) else { return nil }
    // A list is also of use where the store cannot be read; the picture itself says what is wrong.
    guard let image = try? cache.facts(for: request) else { return nil }
    entry.thumbHash = image.thumbHash
    entry.storedAt = image.storedAt.map { WallTime($0) }
    entry.expiresAt = image.expiresAt.map { WallTime($0) }
    return image
  }
}

extension ListQuery {
  /// Whether only failures are sought, which a job finds without reading the other lines.
  fileprivate var seeksFailures: Bool { outcome == .failed || code != nil }

  fileprivate func matches(_ result: ImageJobResult) -> Bool {
    switch (outcome, result.outcome) {
    case (nil, _), (.done, .done), (.failed, .failed): break
    default: return false
    }
    return code == nil || result.error?.code.rawValue == code
  }
}
