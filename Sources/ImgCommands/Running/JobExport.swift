import ImgClient
import ImgModel
import ImgSettings
import ImgStore
import ImgSystem
import ImgWire

/// Writes a job's thumbnails as files, or its originals or facts if it stored nothing else, with a
/// manifest.
///
/// The manifest has one JSON object for each line of the list, in order: the file, or the reason
/// why there is none.
final class JobExport {
  static let manifestName = "manifest.jsonl"

  private let directory: String
  private let request: ThumbnailRequest
  private let reader: StoreReader?
  private let manifestFile: OwnedDescriptor
  private let manifest: Output

  private(set) var exportedCount = 0
  private(set) var missingCount = 0
  /// The missing files whose thumbnail was made but has expired or was evicted since.
  private(set) var goneCount = 0

  /// - Parameter reader: `nil` if there is no store; every file is then missing.
  init(of job: JobStatus, to directory: String, reader: StoreReader?) throws {
    self.directory = directory
    request = ThumbnailRequest(
      variant: job.variant, isLenient: job.isLenient, keep: job.keep, fetch: job.fetch)
    self.reader = reader
    try Directory.create(directory)
    manifestFile = try FileIO.create("\(directory)/\(Self.manifestName)")
    manifest = Output(descriptor: manifestFile.rawValue)
  }

  var keep: Keep { request.keep }
  /// What a file is, for people.
  var noun: String { keep.isFacts ? "fact file" : "thumbnail" }

  func add(_ entry: ResultsPage.Entry) throws {
    let isDone = if case .done = entry.outcome { true } else { false }
    guard isDone, let found = try stored(entry) else {
      missingCount += 1
      if isDone, keep != .none { goneCount += 1 }
      return try manifest.write(
        json: Line(entry, file: nil, thumbnail: nil, isKept: keep != .none))
    }
    let file = fileName(of: entry.index, found.facts.thumbnail.format)
    try FileIO.replace(path: "\(directory)/\(file)", with: found.bytes)
    exportedCount += 1
    try manifest.write(
      json: Line(entry, file: file, thumbnail: found.facts.thumbnail, isKept: true))
  }

  func finish() throws {
    try manifest.flush()
  }

  /// `nil` if it has expired or was evicted since the job ended.
  private func stored(
    _ entry: ResultsPage.Entry
  ) throws -> (facts: StoredThumbnail, bytes: [UInt8])? {
    let name = request.fetch.name(of: try ImageURL(line: entry.url))
    return keep == .original
      ? try reader?.original(of: name, isLenient: request.isLenient)
      : try reader?.result(of: name, for: request, recordingAccess: .none)
  }

  /// The line's number: a unique name that sorts like the list and needs no escaping.
  private func fileName(of index: Int, _ format: ImageFormat) -> String {
    let digits = String(index)
    return String(repeating: "0", count: max(0, 7 - digits.count)) + digits
      + ".\(keep.isFacts ? "json" : format.fileExtension)"
  }

  private struct Line: Encodable {
    private let index: Int
    private let url: RequestedURL
    private let file: String?
    private let thumbnail: Thumbnail?
    private let reason: String?

    private enum CodingKeys: String, CodingKey {
      case index, file, thumbnail, reason
    }

    init(_ entry: ResultsPage.Entry, file: String?, thumbnail: Thumbnail?, isKept: Bool) {
      index = entry.index
      url = RequestedURL(entry.url)
      self.file = file
      self.thumbnail = thumbnail
      reason =
        switch entry.outcome {
        case .done: file == nil ? (isKept ? "not_in_store" : "not_kept") : nil
        case .failed(let failure, _): failure.code.rawValue
        case .cancelled: "cancelled"
        case nil: "not_finished"
        }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(index, forKey: .index)
      try url.encode(to: encoder)
      try container.encodeIfPresent(file, forKey: .file)
      try container.encodeIfPresent(thumbnail, forKey: .thumbnail)
      try container.encodeIfPresent(reason, forKey: .reason)
    }
  }
}
