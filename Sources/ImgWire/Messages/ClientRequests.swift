@_spi(Coding) package import ImgModel

/// A request for one thumbnail. The client waits for it.
package struct GetRequest: Hashable, Sendable, Fielded {
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
  package let maximumRetryAfter: Duration?

  package static let maximumViewerByteCount = 200

  package init(
    url: String, viewer: String? = nil, options: RequestOptions,
    bypassesStore: Bool = false, wantsPreviews: Bool = false, wantsProgress: Bool = false,
    maximumRetryAfter: Duration? = nil
  ) {
    self.url = url
    self.viewer = viewer
    self.options = options
    self.bypassesStore = bypassesStore
    self.wantsPreviews = wantsPreviews
    self.wantsProgress = wantsProgress
    self.maximumRetryAfter = maximumRetryAfter
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    wantsPreviews = try f.field("incremental", value?.wantsPreviews)
    maximumRetryAfter = try f.optional("max_retry_after_ms", value?.maximumRetryAfter)
    bypassesStore = try f.field("no_cache", value?.bypassesStore)
    options = try f.field("options", value?.options)
    wantsProgress = try f.field("progress", value?.wantsProgress)
    url = try f.field("url", value?.url)
    viewer = try f.optional("viewer", value?.viewer)
  }
}

/// A request for a page of jobs.
package struct JobsRequest: Hashable, Sendable, Fielded {
  /// The page starts after this job, with the next older one; `nil` for the first page.
  package let before: JobID?
  /// Whether the page omits ended jobs.
  package let isActiveOnly: Bool

  package init(before: JobID? = nil, isActiveOnly: Bool = false) {
    self.before = before
    self.isActiveOnly = isActiveOnly
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    isActiveOnly = try f.field("active_only", value?.isActiveOnly)
    before = try f.optional("before", value?.before)
  }
}

/// A request for the state of one job.
package struct JobRequest: Hashable, Sendable, Fielded {
  package let job: JobID
  /// Whether a reply follows each change until the job ends.
  package let isWatching: Bool

  package init(job: JobID, isWatching: Bool = false) {
    self.job = job
    self.isWatching = isWatching
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    job = try f.field("job", value?.job)
    isWatching = try f.field("watch", value?.isWatching)
  }
}

/// A request to change one job.
package struct ChangeRequest: Hashable, Sendable, Fielded {
  package let job: JobID
  package let change: ImageJobChange

  package init(job: JobID, change: ImageJobChange) {
    self.job = job
    self.change = change
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    change = try f.field("change", value?.change)
    job = try f.field("job", value?.job)
  }
}

/// A request for a page of results.
package struct ResultsRequest: Hashable, Sendable, Fielded {
  package let job: JobID
  /// The index of the first line, from 0.
  package let from: Int
  package let isFailedOnly: Bool

  package init(job: JobID, from: Int, isFailedOnly: Bool) {
    self.job = job
    self.from = from
    self.isFailedOnly = isFailedOnly
  }

  /// Reads and validates: an index is not negative.
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    isFailedOnly = try f.field("failed_only", value?.isFailedOnly)
    from = try f.field("from", value?.from)
    guard from >= 0 else { throw f.invalid("from", "the index must not be negative") }
    job = try f.field("job", value?.job)
  }
}

/// The start of a submission.
package struct Submission: Hashable, Sendable, Fielded {
  package let name: String?
  package let options: RequestOptions
  package let order: LineOrder
  package let pinPolicy: PinPolicy

  /// The maximum number of lines in one frame, and the maximum size of their text. JSON may need six bytes
  /// for one.
  package static let maximumLineCount = 1_000
  package static let maximumByteCount = 128 << 10

  package init(
    name: String?, options: RequestOptions, order: LineOrder,
    pinPolicy: PinPolicy = .none
  ) {
    self.name = name
    self.options = options
    self.order = order
    self.pinPolicy = pinPolicy
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    name = try f.optional("name", value?.name)
    options = try f.field("options", value?.options)
    order = try f.field("order", value?.order)
    pinPolicy = try f.field("pin", value?.pinPolicy)
  }
}

/// A request for a thumbnail of an uploaded picture. The picture is handled as if it had been fetched
/// just now.
package struct UploadRequest: Hashable, Sendable, Fielded {
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
    url: String?, byteCount: Int, options: RequestOptions, wantsPixels: Bool = false
  ) {
    self.url = url
    self.byteCount = byteCount
    self.options = options
    self.wantsPixels = wantsPixels
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    byteCount = try f.field("bytes", value?.byteCount)
    options = try f.field("options", value?.options)
    wantsPixels = try f.field("pixels", value?.wantsPixels)
    url = try f.optional("url", value?.url)
  }
}
