import ImgModel

/// The layout of a job in the table `jobs`: JSON without header values and cookies, see ``JobHeaders``.
struct StoredJob: Codable {
  let record: JobRecord
  private let hasHeaders: Bool

  private enum CodingKeys: String, CodingKey {
    case record = "job"
    case hasHeaders = "has_headers"
  }

  private init(_ job: JobRecord) {
    hasHeaders = job.lacksHeaders || !job.secrets.isEmpty
    var record = job
    record.secrets = .none
    self.record = record
  }

  static func encode(_ job: JobRecord) throws(StoreError) -> [UInt8] {
    let body = [JournalRecord.Layout.job.rawValue] + (try JSONRecord.encode(StoredJob(job)))
    return JournalRecord.encode(body, for: JournalKey.job(job.id))
  }

  /// The job of a record; with the state `damaged` if the record is damaged.
  static func decode(_ record: Span<UInt8>, of id: JobID, headers: JobHeaders) -> JobRecord {
    guard let stored = decode(record, of: id) else { return .damaged(id) }
    var job = stored.record
    guard stored.hasHeaders else { return job }
    if let secrets = headers[id] { job.secrets = secrets } else { job.lacksHeaders = true }
    return job
  }

  /// The job without its headers and cookies; `nil` for a damaged record or another kind.
  static func decode(_ record: Span<UInt8>, of id: JobID) -> StoredJob? {
    guard JournalRecord.layout(of: record, for: JournalKey.job(id).span) == .job else { return nil }
    return try? JSONRecord.decode(
      StoredJob.self, from: record.extracting(droppingFirst: JournalRecord.headByteCount))
  }
}
