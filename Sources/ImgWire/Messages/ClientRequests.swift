package import ImgModel

/// A request to delete the remembered failures of URLs.
package struct ForgetRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  /// The URLs as in ``ImageURL/text``.
  package let urls: [String]

  package init(id: RequestID, urls: [String]) {
    self.id = id
    self.urls = urls
  }
}

/// A request for one thumbnail. The client waits for it.
package struct GetRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let url: String
  /// The name of the view that shows the picture. A view shows one picture at a time: a later request
  /// with the same name, from any client, replaces this one, which then ends as cancelled. `nil` for
  /// a request that nothing replaces.
  package let viewer: String?
  package let options: RequestOptions
  /// Whether the worker skips the look-up and does not store the result.
  package let bypassesStore: Bool
  /// Whether the client wants previews while the picture arrives.
  package let wantsPreviews: Bool
  /// Whether the client wants to know how much of the picture has arrived.
  package let wantsProgress: Bool
  /// The request fails at once if the host is not asked for longer, because it wants that (Retry-After) or fails
  /// again and again; `nil` for one that waits as long as it takes.
  @OptionalMilliseconds package private(set) var maximumRetryAfter: Duration?

  package static let maximumViewerByteCount = 200

  package init(
    id: RequestID, url: String, viewer: String? = nil, options: RequestOptions,
    bypassesStore: Bool = false, wantsPreviews: Bool = false, wantsProgress: Bool = false,
    maximumRetryAfter: Duration? = nil
  ) {
    self.id = id
    self.url = url
    self.viewer = viewer
    self.options = options
    self.bypassesStore = bypassesStore
    self.wantsPreviews = wantsPreviews
    self.wantsProgress = wantsProgress
    self.maximumRetryAfter = maximumRetryAfter
  }

  private enum CodingKeys: String, CodingKey {
    case id, url, viewer, options
    case bypassesStore = "no_cache"
    case wantsPreviews = "incremental"
    case wantsProgress = "progress"
    case maximumRetryAfter = "max_retry_after_ms"
  }
}

/// A request for a page of jobs.
package struct JobsRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  /// The page starts after this job, with the next older one; `nil` for the first page.
  package let before: JobID?
  /// Whether the page omits ended jobs.
  package let isActiveOnly: Bool

  package init(id: RequestID, before: JobID? = nil, isActiveOnly: Bool = false) {
    self.id = id
    self.before = before
    self.isActiveOnly = isActiveOnly
  }

  private enum CodingKeys: String, CodingKey {
    case id, before
    case isActiveOnly = "active_only"
  }
}

/// A request for the state of one job.
package struct JobRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let job: JobID
  /// Whether a reply follows each change until the job ends.
  package let isWatching: Bool

  package init(id: RequestID, job: JobID, isWatching: Bool = false) {
    self.id = id
    self.job = job
    self.isWatching = isWatching
  }

  private enum CodingKeys: String, CodingKey {
    case id, job
    case isWatching = "watch"
  }
}

/// A request to change one job.
package struct ChangeRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let job: JobID
  package let change: ImageJobChange

  package init(id: RequestID, job: JobID, change: ImageJobChange) {
    self.id = id
    self.job = job
    self.change = change
  }
}

/// A request to change limits of the running coordinator.
package struct LimitRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let limits: LimitChange

  package init(id: RequestID, limits: LimitChange) {
    self.id = id
    self.limits = limits
  }
}

/// A request for a page of results.
package struct ResultsRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let job: JobID
  /// The index of the first line, from 0.
  package let from: Int
  package let isFailedOnly: Bool

  package init(id: RequestID, job: JobID, from: Int, isFailedOnly: Bool) {
    self.id = id
    self.job = job
    self.from = from
    self.isFailedOnly = isFailedOnly
  }

  private enum CodingKeys: String, CodingKey {
    case id, job, from
    case isFailedOnly = "failed_only"
  }

  /// Decodes and validates: an index is not negative.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let from = try container.decode(Int.self, forKey: .from)
    guard from >= 0 else {
      throw DecodingError.dataCorruptedError(
        forKey: .from, in: container, debugDescription: "the index must not be negative")
    }
    self.init(
      id: try container.decode(RequestID.self, forKey: .id),
      job: try container.decode(JobID.self, forKey: .job), from: from,
      isFailedOnly: try container.decode(Bool.self, forKey: .isFailedOnly))
  }
}

/// The start of a submission.
package struct Submission: Hashable, Sendable, Codable {
  package let id: RequestID
  package let name: String?
  package let options: RequestOptions
  package let order: LineOrder
  package let pinPolicy: PinPolicy

  package init(
    id: RequestID, name: String?, options: RequestOptions, order: LineOrder,
    pinPolicy: PinPolicy = .none
  ) {
    self.id = id
    self.name = name
    self.options = options
    self.order = order
    self.pinPolicy = pinPolicy
  }

  private enum CodingKeys: String, CodingKey {
    case id, name, options, order
    case pinPolicy = "pin"
  }
}

/// Lines of a submission: one URL each, as the user typed it.
package struct SubmissionLines: Hashable, Sendable, Codable {
  package let id: RequestID
  package let lines: [String]

  package static let maximumCount = 1_000
  /// The maximum size of the text in one frame. JSON may need six bytes for one.
  package static let maximumByteCount = 128 << 10

  package init(id: RequestID, lines: [String]) {
    self.id = id
    self.lines = lines
  }
}

/// A request for a thumbnail of an uploaded picture. The picture is handled as if it had been fetched
/// just now.
package struct UploadRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  /// The URL of the picture. The result replaces the stored one. `nil` for an inline result that is
  /// not stored.
  package let url: String?
  /// The size of the file beside the message.
  package let byteCount: Int
  /// The options, without a delay.
  package let options: RequestOptions
  /// Whether the result is the pixels of one frame in place of an encoded thumbnail: RGBA in sRGB, 8 bits a
  /// sample, unassociated alpha, rows from the top without gaps. Such a result is never stored, so there
  /// is no ``url`` then.
  package let wantsPixels: Bool

  package init(
    id: RequestID, url: String?, byteCount: Int, options: RequestOptions, wantsPixels: Bool = false
  ) {
    self.id = id
    self.url = url
    self.byteCount = byteCount
    self.options = options
    self.wantsPixels = wantsPixels
  }

  private enum CodingKeys: String, CodingKey {
    case id, url
    case byteCount = "bytes"
    case options
    case wantsPixels = "pixels"
  }
}
