package import ImgClient
package import ImgModel

/// Answers questions about lists: a page of the lines of a job or of the thumbnails of the store, and the
/// facts of one picture in them.
///
/// A question examines a limited number of lines or records, however few of them are sought. Where that ends
/// a page early, its link to the next page goes on.
package struct PictureLists: Sendable {
  /// Where lists come from.
  package typealias Transport = JobTransport & CacheTransport

  let transport: any Transport
  let cache: ImageCache

  /// - Parameter transport: that of the client.
  package init(_ transport: any Transport) {
    self.transport = transport
    // Lists do not push the pictures that are shown out of memory.
    cache = ImageClient(transport: transport, memoryCache: nil).cache
  }

  /// A page of a list.
  ///
  /// - Parameter now: thumbnails of the store that have expired are left out.
  /// - Throws: ``ImageError/Code/unknownJob``, and what the transport throws.
  package func page(_ query: ListQuery, now: WallTime) async throws(ImageError) -> ListPage {
    if let job = query.job {
      try await linePage(query, of: job)
    } else {
      try await recordPage(query, now: now)
    }
  }

  /// The facts of a picture.
  ///
  /// - Returns: `nil` if there is no such picture, or it has expired.
  /// - Throws: ``ImageError/Code/unknownJob``, and what the transport throws.
  package func info(
    of id: PictureID, now: WallTime
  ) async throws(ImageError) -> PictureInfo? {
    switch id {
    case .line(let job, let index): try await lineInfo(of: job, index)
    case .record(let id): try await recordInfo(of: id, now: now)
    }
  }
}

extension ListQuery {
  /// Whether entries are left out, so that the number of a page tells nothing about where it begins.
  var isFiltered: Bool { text != nil || outcome != nil || code != nil }
}

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
    entry.source = image.source
    entry.thumbHash = image.source.thumbHash
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
    kind == .thumbnail && expiryTime > now
  }
}

/// Pictures of lists as requests.
extension PictureLists {
  /// The thumbnail of a record as the store has it; `nil` if there is none.
  func storedImage(of id: CacheRecord.ID) async throws(ImageError) -> LoadedImage? {
    try await cache.image(of: id)
  }

  /// The request that has a picture of a list in the variant that is asked for.
  ///
  /// - Returns: `nil` if there is no such picture, or no request finds it.
  /// - Throws: the failure of a line that has failed; ``ImageError/Code/unknownJob``.
  func request(for query: PictureQuery) async throws(ImageError) -> ImageRequest? {
    guard var request = try await listedRequest(of: query.id) else { return nil }
    request.variant = query.variant(of: request.variant)
    return request
  }

  private func listedRequest(of id: PictureID) async throws(ImageError) -> ImageRequest? {
    switch id {
    case .line(let job, let index):
      guard let line = try await line(index, of: job) else { return nil }
      if let error = line.result.error { throw error }
      return JobLineRequest(line.job).request(of: line.result.url)
    case .record(let id):
      return try await record(id).map { ImageRequest(url: $0.url) }
    }
  }

  /// A line of a job; `nil` if the job has fewer.
  func line(
    _ index: Int, of id: ImageJob.ID
  ) async throws(ImageError) -> (job: ImageJob, result: ImageJobResult)? {
    let job = try await transport.job(id)
    guard index < job.total,
      let result = try await transport.jobResults(of: id, from: index, failedOnly: false).results
        .first, result.index == index
    else { return nil }
    return (job, result)
  }

  /// The first picture of a job that is there; `nil` if there is none among the lines that one question has.
  func firstPicture(of job: ImageJob) async throws(ImageError) -> PictureID? {
    guard job.done > 0 else { return nil }
    let lines = try await transport.jobResults(of: job.id, from: 0, failedOnly: false).results
    return lines.first { if case .done = $0.outcome { true } else { false } }
      .map { .line(job: job.id, index: $0.index) }
  }

  /// Why the first line of a job that has failed did; `nil` if none has.
  func firstFailure(of job: ImageJob) async throws(ImageError) -> ImageError? {
    guard job.failed > 0 else { return nil }
    return try await transport.jobResults(of: job.id, from: 0, failedOnly: true).results.first?
      .error
  }

  /// A record of the store; `nil` if there is none of that id.
  func record(_ id: CacheRecord.ID) async throws(ImageError) -> CacheRecord? {
    let record = try await transport.records(after: id.predecessor, limit: 1).first
    return record?.id == id ? record : nil
  }
}

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
  fileprivate var longerSide: Int { max(thumbnail.width, thumbnail.height) }
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

/// What one question about a list may examine, so that its time is limited.
struct SearchBudget {
  /// Lines or records. A long URL counts as several.
  private var restCount: Int

  private static let byteCountOfOne = 256

  init(count: Int = 10_000) {
    restCount = count
  }

  var isSpent: Bool { restCount <= 0 }

  /// - Parameters:
  ///   - count: lines or records that were read or passed over.
  ///   - urls: those that were compared.
  mutating func spend(_ count: Int, comparing urls: some Sequence<String>) {
    restCount -= max(1, count)
    restCount -= urls.reduce(0) { $0 + $1.utf8.count / Self.byteCountOfOne }
  }
}

/// Finds URLs with a text in them, as lists show them: without their passwords, which a search would tell letter
/// by letter. Letters of ASCII are equal in either case.
struct URLFilter {
  private let text: [UInt8]

  /// - Parameter text: `nil` finds all URLs.
  init(_ text: String?) {
    self.text = Self.folded(text ?? "")
  }

  func matches(_ url: String) -> Bool {
    guard let first = text.first else { return true }
    var rest = Self.folded(url.withoutPasswords)[...]
    while let index = rest.firstIndex(of: first) {
      rest = rest[index...]
      if rest.starts(with: text) { return true }
      rest.removeFirst()
    }
    return false
  }

  private static func folded(_ text: String) -> [UInt8] {
    text.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
  }
}

extension ListQuery {
  /// The target that asks for the page.
  var target: String {
    var fields = ["page=\(page)", "limit=\(limit)"]
    if let job { fields.append("job=\(job)") }
    if let text { fields.append("q=\(EscapedText.encoded(text))") }
    if let outcome { fields.append("outcome=\(outcome.rawValue)") }
    if let code { fields.append("code=\(EscapedText.encoded(code))") }
    switch after {
    case .line(let index): fields.append("after=\(index)")
    case .record(let id): fields.append("after=\(id)")
    case nil: break
    }
    return "/v2/list?\(fields.joined(separator: "&"))"
  }

  /// The page after this one, which begins behind a position.
  func next(after position: Position?) -> ListQuery {
    var query = self
    query.page = min(page + 1, Self.maximumPage)
    query.after = position
    return query
  }

  /// The page before this one; `nil` for the first one.
  var previous: ListQuery? {
    guard page > 1 else { return nil }
    var query = self
    query.page = page - 1
    query.after = nil
    return query
  }

  /// The entries before the page, if it is found by its number.
  var skippedCount: Int { after == nil ? (page - 1) * limit : 0 }
}
