@_spi(Coding) package import ImgModel

/// A request for one thumbnail. The client waits for it.
package struct GetRequest: Hashable, Sendable, Fielded {
  package let url: String
  /// The name of the view that shows the picture. A view shows one picture at a time: a later request
  /// with the same name, from any client, replaces this one, which then ends as cancelled. `nil` for
  /// a request that nothing replaces.
  package let viewer: String?
  package let options: RequestOptions
  /// What the client is told while the picture arrives.
  package let updates: ArrivalUpdates
  /// The request fails at once if the host is not asked for longer, because it wants that (Retry-After) or fails
  /// again and again; `nil` for one that waits as long as it takes.
  package let maximumRetryAfter: Duration?
  /// Whether the client can fetch the picture by itself. If the store lacks it and no fetch of it is under way, the
  /// coordinator asks for it by a `fetch`.
  package var offersFetch: Bool

  package static let maximumViewerByteCount = 200

  package init(
    url: String, viewer: String? = nil, options: RequestOptions, updates: ArrivalUpdates = [],
    maximumRetryAfter: Duration? = nil, offersFetch: Bool = false
  ) {
    self.url = url
    self.viewer = viewer
    self.options = options
    self.updates = updates
    self.maximumRetryAfter = maximumRetryAfter
    self.offersFetch = offersFetch
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    maximumRetryAfter = try f.optional("max_retry_after_ms", value?.maximumRetryAfter)
    offersFetch = try f.field("offers_fetch", value?.offersFetch, default: false)
    options = try f.field("options", value?.options)
    updates = try f.field("updates", value?.updates)
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
  /// Whether its lines may name files that the client reads, see ``ImageURL/isReadByCommand``.
  package let namesFiles: Bool

  /// The maximum number of lines in one frame, and the maximum size of their text. JSON may need six bytes
  /// for one.
  package static let maximumLineCount = 1_000
  package static let maximumByteCount = 128 << 10

  package init(
    name: String?, options: RequestOptions, order: LineOrder,
    pinPolicy: PinPolicy = .none, namesFiles: Bool = false
  ) {
    self.name = name
    self.options = options
    self.order = order
    self.pinPolicy = pinPolicy
    self.namesFiles = namesFiles
  }

  /// Reads and validates: a job does not bypass the store.
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    name = try f.optional("name", value?.name)
    namesFiles = try f.field("names_files", value?.namesFiles, default: false)
    options = try f.field("options", value?.options)
    guard !options.bypassesStore else {
      throw f.invalid("options", "a job stores its results, so it cannot bypass the store")
    }
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

/// A picture that a client has fetched, because the coordinator asked it to.
package struct FetchedPicture: Hashable, Sendable, Fielded {
  /// The size of the file beside the message.
  package let byteCount: Int
  /// What a cache reads of the response (RFC 9111); none where the client does not know.
  package let fields: HeaderFields

  package init(byteCount: Int, fields: HeaderFields = .none) {
    self.byteCount = byteCount
    self.fields = fields
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    byteCount = try f.field("bytes", value?.byteCount)
    fields = try f.field("headers", value?.fields, default: .none)
  }
}
