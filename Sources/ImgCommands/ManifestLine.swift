import ImgClient
import ImgCrypto
@_spi(Coding) import ImgModel
import ImgSystem

/// What the manifest of an export says of a line of a job: its files, or the reason why there is none.
///
/// It is the proof of its files. What it says of a file stays for as long as the file is not replaced.
struct ManifestLine: Encodable {
  let index: Int
  private let place: LinePlace?
  private let url: RequestedURL
  private let columns: ColumnValues?
  private let written: Written
  private let reason: String?
  /// `nil` if the part that the next export reads has it.
  private let failure: Failure?

  /// - Parameters:
  ///   - files: in the order of the job's variants.
  ///   - isStored: whether the store has a picture of the line.
  ///   - isNameTaken: whether the directory has other files where the line's would be.
  ///   - isLost: whether the manifest has lost the line, and the directory has a file that may be of it.
  ///   - attemptTime: when an export has tried in vain to make the line again; `nil` if none has.
  init(
    _ entry: LineResult, of job: ImageJob, _ files: [File], isStored: Bool, isNameTaken: Bool,
    isLost: Bool, attemptTime: WallTime?
  ) {
    index = entry.index
    place = entry.place
    columns = ColumnValues(of: entry.line, in: job.columns)
    let hasFile = files.contains(where: \.isIntact)
    let failure: Failure? =
      if !hasFile, case .failed(let failure, _) = entry.outcome { failure } else { nil }
    let attempt = failure.flatMap { failure in
      attemptTime.map { FailedAttempt(failure: failure, time: $0) }
    }
    self.failure = attempt == nil ? failure : nil
    url = RequestedURL(entry.url)
    written = Written(
      index: entry.index, origin: Origin(of: job), files: files, failedAttempt: attempt)
    reason =
      switch entry.outcome {
      case _ where hasFile || attempt != nil: nil
      case .done where isLost: Written.lostReason
      case .done where isNameTaken: "name_taken"
      // The file has changed, and stays.
      case .done where isStored: "store_differs"
      case .done: job.request.keep != .none ? "not_in_store" : "not_kept"
      case .failed(let failure, _): failure.code.rawValue
      case .cancelled: "cancelled"
      case nil: "not_finished"
      }
  }

  func encode(to encoder: any Encoder) throws {
    try JSONObject(
      [
        "columns": columns, "line": place?.line, "list": place?.list, "reason": reason,
        "http_status": failure?.httpStatus, "detail": failure?.detail,
      ], beside: url, written
    ).encode(to: encoder)
  }
}

extension ManifestLine {
  /// The lines of the metadata for its files, as JSON: their names, and what the line has in columns.
  func metadata() throws -> String {
    try written.files.filter(\.isIntact).map { file in
      let named = JSONObject([ExportManifest.metadataFileColumn: file.name])
      return try Output.json(ofObject: JSONObject([:], beside: url, columns, named))
    }.joined()
  }

  /// What is not as it was when a file was written.
  enum Status: String, FieldValue {
    /// The store has other bytes.
    case storeDiffers = "store_differs"
    /// The file in the directory has another SHA-256.
    case fileChanged = "file_changed"
    /// The file is no longer in the directory.
    case fileMissing = "file_missing"
  }

  /// A file, and what proves where it is from.
  struct File: Hashable, Sendable, Fielded {
    let name: String
    /// The thumbnail; of a file of facts, the picture and the length of the file.
    let content: Thumbnail
    let isFacts: Bool
    /// The position of the size among those of the job.
    private(set) var variant: Int
    let hash: String
    /// The earlier file, which was gone when this one was written; no more than one. It may come back from a copy.
    private var replaced: [File] = []
    private(set) var status: Status?
    let storageTime: WallTime
    let expiryTime: WallTime
    /// Whether it was stored after the job had its own, so that the bytes may not be those that the job fetched.
    let isStoredAfterJob: Bool
    /// When the store last had the same bytes from the origin, or the word of the origin that they are still
    /// current.
    private var confirmationTime: WallTime?
    /// What the origin said that an original is.
    private let contentType: String?
    private let entityTag: String?
    private let lastModified: String?
    private let finalURL: String?
    /// Of the picture that it shows.
    private let thumbHash: ThumbHash?

    /// - Parameters:
    ///   - bytes: of the file.
    ///   - record: of what it was made from.
    ///   - isStoredAfterJob: whether it was stored after the job had its own.
    init(
      name: String, _ bytes: [UInt8], of record: CacheRecord, variant: Int, isStoredAfterJob: Bool
    ) {
      self.name = name
      self.variant = variant
      isFacts = record.kind == .facts
      content = record.thumbnail.with(byteCount: bytes.count)
      hash = SHA256.hash(bytes).hexadecimal
      storageTime = record.bytesStorageTime
      confirmationTime = record.storageTime > storageTime ? record.storageTime : nil
      self.isStoredAfterJob = isStoredAfterJob
      expiryTime = record.expiryTime
      // A thumbnail has a format of its own.
      contentType = record.kind == .original ? Self.field("content-type", of: record) : nil
      entityTag = Self.field("etag", of: record)
      lastModified = Self.field("last-modified", of: record)
      finalURL = Self.field(":issuer", of: record)?.withoutPasswords
      thumbHash = record.source.thumbHash
    }

    init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      confirmationTime = try f.optional("confirmed_at", value?.confirmationTime)
      contentType = try f.optional("content_type", value?.contentType)
      entityTag = try f.optional("etag", value?.entityTag)
      expiryTime = try f.field("expires_at", value?.expiryTime)
      let facts = try f.optional("facts", value.flatMap { $0.isFacts ? $0.content : nil })
      name = try f.field("file", value?.name)
      finalURL = try f.optional("final_url", value?.finalURL)
      lastModified = try f.optional("last_modified", value?.lastModified)
      replaced = try f.field("replaced", value?.replaced, default: [])
      try f.optional("replaced_sha256", value?.replaced.first?.hash)
      hash = try f.field("sha256", value?.hash)
      status = try f.optional("status", value?.status)
      isStoredAfterJob = try f.field(
        "stored_after_job", value?.isStoredAfterJob, default: false)
      storageTime = try f.field("stored_at", value?.storageTime)
      thumbHash = try f.optional("thumbhash", value?.thumbHash)
      let picture = try f.optional("thumbnail", value.flatMap { $0.isFacts ? nil : $0.content })
      variant = try f.field("variant", value?.variant, default: 0)
      guard let content = facts ?? picture else { throw f.missing("thumbnail") }
      self.content = content
      isFacts = facts != nil
    }

    /// Whether the directory has the file as the manifest says.
    var isIntact: Bool { status != .fileChanged && status != .fileMissing }

    /// What a directory has of the file; what is not a regular file is not the file.
    ///
    /// - Returns: `nil` if it is as it was written.
    func change(in directory: String) -> Status? {
      let path = "\(directory)/\(name)"
      guard let status = try? FileStatus(at: path), status.isRegularFile else {
        return .fileMissing
      }
      guard status.byteCount == content.byteCount, (try? Self.hash(ofFile: path)) == hash else {
        return .fileChanged
      }
      return nil
    }

    func isIntact(in directory: String) -> Bool { change(in: directory) == nil }

    func with(_ status: Status?) -> File {
      var file = self
      file.status = status
      return file
    }

    /// The same file, which has two sizes of a picture that are equal.
    func with(variant: Int) -> File {
      var file = self
      file.variant = variant
      return file
    }

    /// The store has the same bytes.
    func confirmed(by record: CacheRecord) -> File {
      var file = with(nil)
      if record.storageTime > storageTime { file.confirmationTime = record.storageTime }
      return file
    }

    /// The file takes the place of one that is gone and had other bytes.
    func replacing(_ gone: File) -> File {
      var file = self
      file.replaced = [gone.with(nil)]
      return file
    }

    /// The file that a directory has: this one, or the one whose place it took and that is there again.
    ///
    /// - Returns: with what has changed of it.
    func found(in directory: String) -> File {
      guard let change = change(in: directory) else { return with(nil) }
      let earlier = replaced.first?.found(in: directory)
      return earlier.flatMap { $0.isIntact ? $0 : nil } ?? with(change)
    }

    /// Reads the file in parts: it may be an original of any size.
    private static func hash(ofFile path: String) throws(SystemError) -> String {
      let file = try FileIO.open(readingFrom: path)
      var hash = SHA256()
      var part: [UInt8] = []
      while try FileIO.read(file.rawValue, into: &part, upTo: 64 << 10) > 0 {
        hash.update(part)
        part.removeAll(keepingCapacity: true)
      }
      return hash.finish().hexadecimal
    }

    /// A field of the response, of those that the store keeps. That of the URL where redirects led has a
    /// name that no field has, see ``ReuseTerms/fields``.
    private static func field(_ name: String, of record: CacheRecord) -> String? {
      let lines = record.terms.fields.split(separator: "\n")
      let line = lines.first { $0.lowercased().hasPrefix(name + ":") }
      return line.map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
    }
  }

  /// The job of a line.
  struct Origin: Hashable, Fielded {
    let job: JobID
    /// Tells the job from those with its number in other data directories.
    let submissionTime: WallTime

    init(of job: ImageJob) {
      self.job = job.job
      submissionTime = job.submissionTime
    }

    init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      job = try f.field("job", value?.job)
      submissionTime = try f.field("submitted_at", value?.submissionTime)
    }

    /// For people who have the other one in mind.
    func text(besides other: Origin) -> String {
      job == other.job ? "another job \(job), submitted at \(submissionTime)" : "job \(job)"
    }
  }

  /// The last attempt of an export to make a line again, which has failed.
  struct FailedAttempt: Hashable, Fielded {
    let failure: Failure
    let time: WallTime

    init(failure: Failure, time: WallTime) {
      self.failure = failure
      self.time = time
    }

    init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      let detail = try f.field("detail", value?.failure.detail)
      let httpStatus = try f.optional("http_status", value?.failure.httpStatus)
      let code = try f.field("reason", value?.failure.code)
      let isRetryable = try f.field("retryable", value?.failure.isRetryable)
      time = try f.field("tried_at", value?.time)
      failure =
        value?.failure
        ?? Failure(
          stage: .fetch, code: code, httpStatus: httpStatus, isRetryable: isRetryable,
          detail: detail)
    }
  }

  /// The part of a line that the next export of the job reads.
  struct Written: Fielded {
    let index: Int
    private let origin: Origin
    let files: [File]
    let failedAttempt: FailedAttempt?
    /// Whether an earlier manifest had lost the line.
    let isLost: Bool

    static let lostReason = "line_lost"

    init(index: Int, origin: Origin, files: [File], failedAttempt: FailedAttempt?) {
      isLost = false
      self.index = index
      self.origin = origin
      self.files = files
      self.failedAttempt = failedAttempt
    }

    /// Whether there is neither a file nor an attempt.
    var isEmpty: Bool { files.isEmpty && failedAttempt == nil }

    /// The members of the first file and of the attempt are beside the others. A line without them has a reason.
    init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      let isTried = try value == nil ? Self.has("tried_at", &f) : value?.failedAttempt != nil
      failedAttempt = isTried ? try FailedAttempt(&f, value?.failedAttempt) : nil
      let hasFile = try value == nil ? Self.has("file", &f) : value?.files.isEmpty == false
      let first = hasFile ? try File(&f, value?.files.first) : nil
      if value == nil, first == nil, failedAttempt == nil {
        guard try Self.has("reason", &f) else { throw f.missing("file") }
      }
      index = try f.field("index", value?.index)
      let others = try f.field(
        "other_files", value.map { Array($0.files.dropFirst()) }, default: [])
      origin = try Origin(&f, value?.origin)
      files = [first].compactMap(\.self) + others
      isLost = try value == nil ? f.optional("reason", nil as String?) == Self.lostReason : false
    }

    /// Whether what is read has a member.
    private static func has(_ name: StaticString, _ f: inout Fields) throws(FieldError) -> Bool {
      try f.optional(name, nil as String?) != nil
    }
  }
}

extension LineResult {
  var isDone: Bool { if case .done = outcome { true } else { false } }
}

extension Thumbnail {
  /// The same in a file of another length.
  fileprivate func with(byteCount: Int) -> Thumbnail {
    Thumbnail(
      format: format, width: width, height: height, byteCount: byteCount, isDamaged: isDamaged)
  }
}

extension [UInt8] {
  /// Two digits for each byte.
  var hexadecimal: String {
    map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }
}
