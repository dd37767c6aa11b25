import Dispatch
import ImgModel
import ImgSystem
import TestFiles
import Testing

@testable import ImgStore

extension WallTime {
  /// The tests' present.
  static let now = WallTime(rawValue: 1_800_000_000_000)

  static func now(plusSeconds seconds: Int64) -> WallTime {
    now.advanced(by: .seconds(seconds))
  }
}

extension ContentKey {
  /// The key of the picture with this number.
  init(picture number: Int) throws {
    self.init(
      PictureName(try ImageURL(parsing: "https://example.org/\(number).jpg")), variant: .standard)
  }
}

extension NewThumbnail {
  /// A thumbnail of the picture with this number; its bytes depend on the number.
  init(
    picture number: Int, byteCount: Int = 1_000, expiresAt: WallTime = .now(plusSeconds: 60)
  ) throws {
    try self.init(
      picture: number, expiresAt: expiresAt,
      bytes: (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) })
  }

  /// A thumbnail of equal bytes, which is fast to make.
  init(
    large number: Int, byteCount: Int, expiresAt: WallTime = .now(plusSeconds: 60),
    pins: [JobID] = []
  ) throws {
    try self.init(
      picture: number, retention: Retention(until: expiresAt, pins: pins),
      bytes: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: byteCount))
  }

  /// A thumbnail with a given retention.
  init(picture number: Int, retention: Retention) throws {
    try self.init(picture: number, retention: retention, bytes: [UInt8(truncatingIfNeeded: number)])
  }

  /// A thumbnail that replaces the record of another picture.
  init(picture number: Int, replaces other: Int) throws {
    try self.init(
      picture: number, retention: Retention(until: .now(plusSeconds: 60)),
      replaces: try ContentKey(picture: other), bytes: [UInt8(truncatingIfNeeded: number)])
  }

  /// A thumbnail of a damaged picture.
  init(damaged number: Int) throws {
    try self.init(
      picture: number, retention: Retention(until: .now(plusSeconds: 60)), isDamaged: true,
      bytes: [UInt8(truncatingIfNeeded: number)])
  }

  private init(picture number: Int, expiresAt: WallTime, bytes: [UInt8]) throws {
    try self.init(picture: number, retention: Retention(until: expiresAt), bytes: bytes)
  }

  private init(
    picture number: Int, retention: Retention, replaces replaced: ContentKey? = nil,
    isDamaged: Bool = false, bytes: [UInt8]
  ) throws {
    self.init(
      key: try ContentKey(picture: number),
      url: "https://example.org/\(number).jpg",
      thumbnail: Thumbnail(
        format: .webp, width: 256, height: 171, byteCount: bytes.count, isDamaged: isDamaged),
      source: SourcePicture(
        format: .jpeg, width: 4_000, height: 2_667, byteCount: 3_141_592), retention: retention,
      replaces: replaced, bytes: bytes)
  }

  /// The encoded picture, if it is in the record.
  var bytes: [UInt8] {
    guard case .bytes(let bytes) = content else { return [] }
    return bytes
  }

  /// When it expires if it is stored in the tests' present.
  var expiresAt: WallTime { retention.expiresAt(storedAt: .now) }
}

extension ThumbnailStore {
  /// What is wrong with it.
  func defects() throws -> [StoreDefect] {
    var found: [StoreDefect] = []
    for table in StoreDefect.Table.allCases {
      var next: [UInt8]? = []
      while let start = next {
        let part = try self.check(table, from: start)
        found += part.defects
        next = part.next
      }
    }
    return found
  }

  /// A store of the given budget in `directory`.
  convenience init(_ directory: TestDirectory, budgetByteCount: Int64 = 64 << 20) throws {
    try self.init(
      directory: directory.path + "/store",
      access: .readWrite(budgetByteCount: budgetByteCount))
  }

  /// The bytes that the store gives out for a picture; `nil` when there is no hit.
  func bytes(ofPicture number: Int, at now: WallTime = .now) throws -> [UInt8]? {
    try withThumbnail(ContentKey(picture: number), at: now) { _, bytes in
      bytes.indices.map { bytes[$0] }
    }
  }
}

extension Thumbnail {
  static let sample = Thumbnail(format: .jpeg, width: 256, height: 144, byteCount: 9_321)
}

extension Failure {
  static let sample = Failure(
    stage: .fetch, code: .httpStatus, httpStatus: 404, detail: "Not Found")
}

extension Failure {
  /// One that may pass; ``sample`` stays.
  static let passing = Failure(stage: .fetch, code: .timeout, detail: "no answer in 30 s")
}

extension JobRecord {
  /// A submission as it begins.
  static func sample(
    _ id: JobID, order: LineOrder = .firstInFirstOut, columns: [String] = []
  ) -> JobRecord {
    JobRecord(
      id: id, name: "list", options: RequestOptions(variant: .standard), order: order,
      columns: columns, submittedAt: .now)
  }
}

extension Journal {
  /// Accepts a job whose lines are `https://example.org/0`, `https://example.org/1`, … They come in parts that are no
  /// chunks, and the first part has nothing in the columns.
  ///
  /// - Parameter columns: none, or two.
  func submit(
    _ id: JobID, lineCount: Int, order: LineOrder = .firstInFirstOut, columns: [String] = []
  ) throws {
    try apply(.createJob(.sample(id, order: order, columns: columns)))
    for start in stride(from: 0, to: lineCount, by: 300) {
      var lines = ListLines()
      for index in start..<min(start + 300, lineCount) {
        let values = start == 0 || columns.isEmpty ? nil : ["\(index)", "Picture \(index)"]
        lines.append(
          ListLine(
            "https://example.org/\(index)",
            columns: values.flatMap { LineColumns(texts: $0) } ?? .none))
      }
      try apply(.appendURLs(id, lines))
    }
    try apply(.seal(id))
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
  ) throws -> [LineResult] {
    var entries: [LineResult] = []
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

/// Looks again and again, for what another process or thread brings about.
///
/// - Returns: whether it became true before the timeout.
func eventually(_ condition: () throws -> Bool) rethrows -> Bool {
  let deadline = ContinuousClock.now + .seconds(540)
  while ContinuousClock.now < deadline {
    if try condition() { return true }
    ThisProcess.pause(for: .milliseconds(1))
  }
  return false
}

/// Runs what blocks on a thread of its own, not on one of those that all tests share.
func onThread<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue(label: "test").async {
      continuation.resume(with: Swift.Result { try body() })
    }
  }
}
