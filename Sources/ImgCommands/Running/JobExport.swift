import ImgClient
import ImgModel
import ImgSystem

/// Writes a job's thumbnails as files, or its originals or facts if it stored nothing else, with a
/// manifest.
///
/// The manifest has one JSON object for each line of the list, in order: the file, or the reason
/// why there is none. A line has a file for each size of the job.
final class JobExport {
  static let manifestName = "manifest.jsonl"

  private let directory: String
  private let request: ThumbnailRequest
  private let results: LineResults
  /// Makes again what the store no longer has; `nil` leaves it out.
  private let missing: MissingResults?
  private let manifestFile: ReplacementFile
  private let manifest: Output
  private let job: JobStatus
  /// The lines from the first one on that is to be made again: what the manifest says of them, or `nil`
  /// before it is made.
  private var waiting: [(result: LineResult, line: Line?)] = []
  /// How many of these are to be made again.
  private var awaitedCount = 0

  private(set) var exportedCount = 0
  /// The files of an earlier export of this job whose thumbnails the store no longer has.
  private(set) var presentCount = 0
  private(set) var missingCount = 0
  /// The missing files whose thumbnail was made but has expired or was evicted since.
  private(set) var goneCount = 0

  /// The most lines that are made again at a time.
  static let missingMaximum = 1_000
  /// The most lines that wait for them, because the manifest has the order of the list.
  private static let waitingMaximum = 10_000

  /// - Parameters:
  ///   - store: without a store, every file is missing.
  ///   - missing: makes again what the store no longer has.
  init(
    of job: JobStatus, to directory: String, from store: LocalStore, making missing: MissingResults?
  ) throws {
    self.directory = directory
    self.missing = missing
    self.job = job
    request = ThumbnailRequest(
      variant: job.variant, otherVariants: job.otherVariants ?? [], isLenient: job.isLenient,
      keep: job.keep, fetch: job.fetch)
    results = LineResults(of: request, in: store)
    try Directory.create(directory)
    manifestFile = try ReplacementFile(path: "\(directory)/\(Self.manifestName)")
    manifest = Output(descriptor: manifestFile.descriptor)
    try Termination.prepare(manifestFile.removal)
  }

  var keep: Keep { request.keep }
  /// What a file is, for people.
  var noun: String { keep.isFacts ? "fact file" : "thumbnail" }

  /// Whether the store has all that the job made of a line.
  func isStored(_ entry: LineResult) throws -> Bool {
    try entry.isDone && results.isStored(entry)
  }

  /// Writes the files of a line, or has them made again together with those of other lines.
  func add(_ entry: LineResult) throws {
    let found = try stored(entry)
    guard missing == nil || isComplete(entry, found) else {
      waiting.append((entry, nil))
      awaitedCount += 1
      if awaitedCount == Self.missingMaximum { try makeAwaited() }
      return
    }
    let line = try write(entry, found)
    if waiting.isEmpty { return try manifest.write(json: line) }
    waiting.append((entry, line))
    if waiting.count == Self.waitingMaximum { try makeAwaited() }
  }

  /// Makes the rest, and gives the manifest its name.
  func finish() throws {
    try makeAwaited()
    try manifest.flush()
    try manifestFile.commit()
  }

  /// What is exported needs no pins any more.
  func removePins() throws {
    try results.removePins(of: job.job)
  }

  /// Makes the missing results of the lines that wait. Each is written as soon as it is made, and all of
  /// them have their place in the manifest then.
  private func makeAwaited() throws {
    let lines = waiting
    waiting = []
    awaitedCount = 0
    var made: [Int: Line] = [:]
    try missing?.make(lines.filter { $0.line == nil }.map(\.result)) { entry in
      let found = try stored(entry)
      guard isComplete(entry, found) else { return false }
      made[entry.index] = try write(entry, found)
      return true
    }
    for (entry, line) in lines {
      try manifest.write(json: try line ?? made[entry.index] ?? write(entry, stored(entry)))
    }
  }

  private func stored(_ entry: LineResult) throws -> [StoredResult] {
    entry.isDone ? try results.results(of: entry) : []
  }

  /// Whether making a line again would add nothing to what was found of it.
  private func isComplete(_ entry: LineResult, _ found: [StoredResult]) -> Bool {
    guard entry.isDone, keep != .none else { return true }
    let count = keep == .original ? 1 : request.variants.count
    return found.count == count || presentFile(of: entry) != nil
  }

  /// Writes what was found of a line.
  ///
  /// - Returns: its line of the manifest.
  private func write(_ entry: LineResult, _ found: [StoredResult]) throws -> Line {
    var files: [Line.File] = []
    for result in found {
      let thumbnail = result.record.thumbnail
      let name = fileName(of: entry.index, thumbnail)
      let content = try content(of: result, entry)
      try FileIO.replaceRegular(path: "\(directory)/\(name)", with: content)
      files.append(
        Line.File(
          file: name, content: thumbnail.with(byteCount: content.count), isFacts: keep.isFacts))
    }
    exportedCount += files.count
    if job.pinPolicy != .none, !found.isEmpty { try results.endPins(of: entry) }
    if found.isEmpty, let present = presentFile(of: entry) {
      presentCount += 1
      files = [present]
    }
    if files.isEmpty {
      missingCount += 1
      if entry.isDone, keep != .none { goneCount += 1 }
    }
    return Line(entry, files, found.first?.record.thumbHash, isKept: keep != .none)
  }

  /// What the store has of a line; facts as one line of JSON, as `imgctl info --json` prints them.
  private func content(of result: StoredResult, _ entry: LineResult) throws -> [UInt8] {
    guard keep.isFacts else { return result.bytes }
    let report = try FactsReport(
      json: result.bytes, of: RequestedURL(entry.url), ImageURL(line: entry.url),
      fetch: .stored(result.record, isFromCache: true), showsPlace: true)
    return Array(try Output.json(of: report).utf8)
  }

  /// The file that an earlier export has written for a line; `nil` if there is none. Also `nil` if the
  /// job has several files a line, because the outcome describes only one of them.
  private func presentFile(of entry: LineResult) -> Line.File? {
    guard case .done(let thumbnail, _, _) = entry.outcome, keep.includesResult,
      request.otherVariants.isEmpty
    else { return nil }
    let name = fileName(of: entry.index, thumbnail)
    guard let status = try? FileStatus(at: "\(directory)/\(name)"), status.isRegularFile,
      // A file of facts also says where they are from.
      keep.isFacts
        ? status.byteCount > thumbnail.byteCount : status.byteCount == thumbnail.byteCount
    else { return nil }
    return Line.File(
      file: name, content: thumbnail.with(byteCount: status.byteCount), isFacts: keep.isFacts)
  }

  /// The line's number: a unique name that sorts like the list and needs no escaping. Of a job with
  /// several sizes also the size, which differs from file to file unless the pictures are equal.
  private func fileName(of index: Int, _ thumbnail: Thumbnail) -> String {
    let digits = String(index)
    let size = request.otherVariants.isEmpty ? "" : "-\(thumbnail.width)x\(thumbnail.height)"
    return String(repeating: "0", count: max(0, 7 - digits.count)) + digits + size
      + ".\(keep.isFacts ? "json" : thumbnail.format.fileExtension)"
  }

  private struct Line: Encodable {
    struct File: Encodable {
      let file: String
      /// The thumbnail; of a file of facts, the picture and the length of the file.
      let content: Thumbnail
      let isFacts: Bool

      private enum CodingKeys: String, CodingKey {
        case file, thumbnail, facts
      }

      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(file, forKey: .file)
        try container.encode(content, forKey: isFacts ? .facts : .thumbnail)
      }
    }

    private let index: Int
    private let url: RequestedURL
    private let files: [File]
    /// Of the picture that the files show.
    private let thumbHash: ThumbHash?
    private let reason: String?

    private enum CodingKeys: String, CodingKey {
      case index, reason
      case thumbHash = "thumbhash"
      case otherFiles = "other_files"
    }

    /// - Parameter isKept: whether the job stored anything.
    init(
      _ entry: LineResult, _ files: [File], _ thumbHash: ThumbHash?, isKept: Bool
    ) {
      index = entry.index
      url = RequestedURL(entry.url)
      self.files = files
      self.thumbHash = thumbHash
      reason =
        switch entry.outcome {
        case .done: files.isEmpty ? (isKept ? "not_in_store" : "not_kept") : nil
        case .failed(let failure, _): failure.code.rawValue
        case .cancelled: "cancelled"
        case nil: "not_finished"
        }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(index, forKey: .index)
      try url.encode(to: encoder)
      try files.first?.encode(to: encoder)
      try container.encodeIfPresent(thumbHash, forKey: .thumbHash)
      if files.count > 1 { try container.encode(Array(files.dropFirst()), forKey: .otherFiles) }
      try container.encodeIfPresent(reason, forKey: .reason)
    }
  }
}

extension LineResult {
  fileprivate var isDone: Bool { if case .done = outcome { true } else { false } }
}

extension Thumbnail {
  /// The same in a file of another length.
  fileprivate func with(byteCount: Int) -> Thumbnail {
    Thumbnail(
      format: format, width: width, height: height, byteCount: byteCount, isDamaged: isDamaged)
  }
}
