import ImgModel
import ImgStore
import Testing

extension Failure {
  /// One that may pass; ``sample`` stays.
  static let passing = Failure(stage: .fetch, code: .timeout, detail: "no answer in 30 s")
}

extension JobRecord {
  /// A submission as it begins.
  static func sample(_ id: JobID, order: LineOrder = .firstInFirstOut) -> JobRecord {
    JobRecord(
      id: id, name: "list", options: RequestOptions(variant: .standard), order: order,
      submittedAt: .now)
  }
}

extension Journal {
  /// Accepts a job whose lines are `https://example.org/0`, `https://example.org/1`, …
  func submit(_ id: JobID, lineCount: Int, order: LineOrder = .firstInFirstOut) throws {
    let lines = (0..<lineCount).map { "https://example.org/\($0)" }
    try apply([.createJob(.sample(id, order: order)), .appendURLs(id, lines), .seal(id)])
  }

  /// Applies one operation.
  func apply(_ operation: JournalOperation) throws {
    try apply([operation])
  }

  /// All lines without an outcome, read in pages of `limit`.
  func openLines(
    of id: JobID, order: LineOrder = .firstInFirstOut, limit: Int = 10_000
  ) throws -> [URLPage.Entry] {
    let end = try job(id)?.counts.total ?? 0
    var entries: [URLPage.Entry] = []
    var position = 0
    while position < end {
      let page = try urls(of: id, positions: [position..<end], order: order, limit: limit)
      #expect(page.entries.count <= limit)
      try #require(page.next > position && page.next <= end)
      entries += page.entries
      position = page.next
    }
    return entries
  }

  /// All results, read in pages of `limit`.
  func allResults(
    of id: JobID, limit: Int = 10_000, isFailedOnly: Bool = false
  ) throws -> [ResultPage.Entry] {
    var entries: [ResultPage.Entry] = []
    var next: Int? = 0
    while let from = next {
      let page = try results(of: id, from: from, limit: limit, isFailedOnly: isFailedOnly)
      #expect(page.entries.count <= limit)
      entries += page.entries
      next = page.next
    }
    return entries
  }

  /// The outcome of each line.
  func outcomes(of id: JobID) throws -> [Outcome?] {
    try allResults(of: id).map(\.outcome)
  }
}
