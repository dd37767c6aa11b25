@_spi(Coding) package import ImgModel

/// A message from a client to the coordinator. The client numbers its requests, and each reply has the
/// number of its request. Replies to different requests may come in any order.
package indirect enum ClientMessage: Hashable, WireMessage {
  package static let sender = "client"

  /// The first message. The coordinator answers with its hello.
  case hello(Hello)
  /// Starts a submission. Its lines follow with the same request number.
  case submit(RequestID, Submission)
  /// More lines of the submission, one URL each, as the user typed it; at most ``Submission/maximumLineCount``
  /// a frame.
  case submitLines(RequestID, ListLines)
  /// Completes the submission. The reply is `submitted`, after the job is durable.
  case submitEnd(RequestID)
  /// Requests the state of the cluster. The reply is `status`.
  case status(RequestID)
  /// Requests a page of jobs, newest first. The reply is `jobs`.
  case jobs(RequestID, JobsRequest)
  /// Requests the state of one job. The reply is `job`; with `watch`, another `job` follows each
  /// change until the job ends.
  case job(RequestID, JobID, isWatching: Bool)
  /// Requests a page of a job's URLs with their outcomes. The reply is `results`.
  case results(RequestID, ResultsRequest)
  /// Changes a job. The reply is `job`, after the change is durable.
  case change(RequestID, ImageJobChange, of: JobID)
  /// Changes limits of the running coordinator. The reply is `status`.
  case limit(RequestID, LimitChange)
  /// The client keeps pictures in memory, and has a share of the memory budget as long as it is connected. The
  /// reply is `memory_share`, and another one follows each change.
  case shareMemory(RequestID)
  /// Requests one thumbnail, before all jobs. The reply is `got`, after `preview` and `progress` replies if
  /// the client wants them.
  case get(RequestID, GetRequest)
  /// The client has taken a preview, and takes the next one. There is no reply if the request has ended
  /// or wants no previews.
  case nextPreview(RequestID)
  /// Requests a thumbnail of the picture in the file beside this message. The reply is `got`.
  case upload(RequestID, UploadRequest)
  /// The client reads local files of the job with its own rights, one at a time: each that a `fetch` names. The reply
  /// is `files_read`, once the job needs no further file.
  case readFiles(RequestID, JobID)
  /// The client has fetched the picture of its `get` by itself, or read the file, as a `fetch` asked it to. The file
  /// beside this message has it. There is no reply but that of the `get`. Too late, it changes nothing.
  case fetched(RequestID, FetchedPicture)
  /// The client could not fetch the picture of its `get`, which ends with this failure, or could not read the file.
  case fetchFailed(RequestID, Failure)
  /// The client no longer waits for the `get`, `upload` or watched `job` of this number. The reply is the
  /// `got` of that request, as cancelled, or `detached` for a job. There is none if the request has ended.
  case detach(RequestID)
  /// Deletes the remembered failures of URLs, as in ``ImageURL/text``. The reply is `forgotten`.
  case forget(RequestID, urls: [String])
  /// Removes expired thumbnails in the background. The reply is `sweeping`.
  case sweep(RequestID)
  /// Stops the coordinator after it has finished its leases. The reply is `stopping`; the connection
  /// closes at the end.
  case stop(RequestID)

  package var announcesFile: Bool {
    switch self {
    case .upload, .fetched: true
    default: false
    }
  }
}

extension ClientMessage {
  package func write(to f: inout Fields) throws(FieldError) {
    switch self {
    case .hello(let payload): try f.message("hello", payload)
    case .submit(let id, let payload): try f.message("submit", id, payload)
    case .submitLines(let id, let payload): try f.message("submit_lines", id, payload)
    case .submitEnd(let id): try f.message("submit_end", id)
    case .status(let id): try f.message("status", id)
    case .jobs(let id, let payload): try f.message("jobs", id, payload)
    case .job(let id, let job, let isWatching):
      try f.message("job", id, "job", job, "watch", isWatching)
    case .results(let id, let payload): try f.message("results", id, payload)
    case .change(let id, let change, let job):
      try f.message("change", id, "change", change, "job", job)
    case .limit(let id, let limits): try f.message("limit", id, "limits", limits)
    case .shareMemory(let id): try f.message("share_memory", id)
    case .get(let id, let payload): try f.message("get", id, payload)
    case .nextPreview(let id): try f.message("next_preview", id)
    case .upload(let id, let payload): try f.message("upload", id, payload)
    case .readFiles(let id, let job): try f.message("read_files", id, "job", job)
    case .fetched(let id, let payload): try f.message("fetched", id, payload)
    case .fetchFailed(let id, let failure): try f.message("fetch_failed", id, "failure", failure)
    case .detach(let id): try f.message("detach", id)
    case .forget(let id, let urls): try f.message("forget", id, "urls", urls)
    case .sweep(let id): try f.message("sweep", id)
    case .stop(let id): try f.message("stop", id)
    }
  }

  package static func read(
    _ type: String, from f: inout Fields
  ) throws(FieldError) -> Self? {
    switch type {
    case "hello": .hello(try f.payload())
    case "submit": .submit(try f.id(), try f.payload())
    case "submit_lines": .submitLines(try f.id(), try f.payload())
    case "submit_end": .submitEnd(try f.id())
    case "status": .status(try f.id())
    case "jobs": .jobs(try f.id(), try f.payload())
    case "job": .job(try f.id(), try f.member("job"), isWatching: try f.member("watch"))
    case "results": .results(try f.id(), try f.payload())
    case "change": .change(try f.id(), try f.member("change"), of: try f.member("job"))
    case "limit": .limit(try f.id(), try f.member("limits"))
    case "share_memory": .shareMemory(try f.id())
    case "get": .get(try f.id(), try f.payload())
    case "next_preview": .nextPreview(try f.id())
    case "upload": .upload(try f.id(), try f.payload())
    case "read_files": .readFiles(try f.id(), try f.member("job"))
    case "fetched": .fetched(try f.id(), try f.payload())
    case "fetch_failed": .fetchFailed(try f.id(), try f.member("failure"))
    case "detach": .detach(try f.id())
    case "forget": .forget(try f.id(), urls: try f.member("urls"))
    case "sweep": .sweep(try f.id())
    case "stop": .stop(try f.id())
    default: nil
    }
  }
}

/// The first message in each direction of every connection.
package struct Hello: Hashable, Sendable, Fielded {
  package let protocolVersion: Int
  /// The version of the sender's program, for people.
  package let version: String
  package let processID: Int32
  /// The store's directory; only in the coordinator's hello to a client.
  package let storeDirectory: String?
  /// The proxies of the workers, without their passwords; only in the coordinator's hello to a client.
  package let proxies: ProxySettings?

  package init(
    protocolVersion: Int = Build.protocolVersion, version: String = Build.version,
    processID: Int32, storeDirectory: String? = nil, proxies: ProxySettings? = nil
  ) {
    self.storeDirectory = storeDirectory
    self.proxies = proxies?.withoutCredentials
    self.protocolVersion = protocolVersion
    self.version = version
    self.processID = processID
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    processID = try f.field("pid", value?.processID)
    protocolVersion = try f.field("protocol", value?.protocolVersion)
    proxies = try f.optional("proxy", value?.proxies)
    storeDirectory = try f.optional("store", value?.storeDirectory)
    version = try f.field("version", value?.version)
  }
}

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
  /// The names of the columns that its lines have, see ``LineColumns``.
  package let columns: [String]

  /// The maximum number of lines in one frame, and the maximum size of their text and columns. JSON may need six bytes
  /// for one.
  package static let maximumLineCount = 1_000
  package static let maximumByteCount = 128 << 10

  package init(
    name: String?, options: RequestOptions, order: LineOrder,
    pinPolicy: PinPolicy = .none, namesFiles: Bool = false, columns: [String] = []
  ) {
    self.name = name
    self.options = options
    self.order = order
    self.pinPolicy = pinPolicy
    self.namesFiles = namesFiles
    self.columns = columns
  }

  /// Reads and validates: a job does not bypass the store, and its columns are not too many.
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    columns = try f.field("columns", value?.columns, default: [])
    guard columns.count <= LineColumns.maximumCount,
      columns.reduce(0, { $0 + $1.utf8.count }) <= LineColumns.maximumNameByteCount
    else { throw f.invalid("columns", "too many") }
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
