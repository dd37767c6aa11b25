@_spi(Coding) package import ImgModel

/// A message from the coordinator to a client.
package indirect enum CoordinatorReply: Hashable, WireMessage {
  package static let sender = "coordinator"

  /// The first message. A client with another protocol version gets it before the connection closes.
  case hello(Hello)
  /// The coordinator refuses the request, or the whole connection (``RequestID/wholeConnection``), which then
  /// closes. The message is a sentence for people.
  case refused(RequestID, Failure.Code, message: String)
  /// The job is durable.
  case submitted(RequestID, JobID, total: Int)
  case status(RequestID, ClusterStatus)
  case jobs(RequestID, JobsPage)
  case job(RequestID, ImageJob)
  case results(RequestID, ResultsPage)
  /// What the client may keep in memory from now on. A client that is behind with reading is sent the newest share
  /// alone, once it has read.
  case memoryShare(RequestID, byteCount: Int64)
  case got(RequestID, GotReply)
  /// A preview of the picture that a `get` waits for. The number counts those of the request from 1. The file
  /// beside this message has its bytes. The next one follows after a `next_preview`.
  case preview(RequestID, number: Int, Thumbnail)
  /// The client is to fetch the picture of its `get` by itself, as it offered: for all requests that wait for it. It has
  /// so long; then the others get it otherwise, and the `get` ends. Of a `read_files`, the client is to read a file.
  case fetch(RequestID, FetchWanted)
  /// The job of a `read_files` needs no further file, or has ended.
  case filesRead(RequestID)
  /// How much has arrived of the picture that a `get` waits for. A client that is behind with reading is
  /// sent fewer.
  case progress(RequestID, ImageProgress)
  /// Why a `get` has waited for a while. Sent again when the reason changes, until the `got`.
  case waiting(RequestID, Wait)
  /// The client that detached from a watched job is sent no more of it.
  case detached(RequestID)
  /// The remembered failures are deleted.
  case forgotten(RequestID)
  /// A worker removes expired thumbnails. If no worker is ready, the next one to start does.
  case sweeping(RequestID)
  /// - clients: the processes of the other clients that are connected.
  case stopping(RequestID, clients: [Int32])

  package var announcesFile: Bool {
    switch self {
    case .got(_, let got): got.uncached != nil
    case .preview: true
    default: false
    }
  }

  /// The request that this answers; `nil` for a hello.
  package var request: RequestID? {
    switch self {
    case .hello: nil
    case .refused(let id, _, _), .submitted(let id, _, _), .status(let id, _), .jobs(let id, _),
      .job(let id, _), .results(let id, _), .got(let id, _), .preview(let id, _, _),
      .progress(let id, _), .fetch(let id, _), .filesRead(let id), .waiting(let id, _),
      .detached(let id),
      .forgotten(let id), .memoryShare(let id, _),
      .sweeping(let id), .stopping(let id, _):
      id
    }
  }
}

extension CoordinatorReply {
  package func write(to f: inout Fields) throws(FieldError) {
    switch self {
    case .hello(let payload): try f.message("hello", payload)
    case .refused(let id, let code, let message):
      try f.message("refused", id, "code", code, "message", message)
    case .submitted(let id, let job, let total):
      try f.message("submitted", id, "job", job, "total", total)
    case .status(let id, let cluster): try f.message("status", id, "cluster", cluster)
    case .jobs(let id, let payload): try f.message("jobs", id, payload)
    case .job(let id, let status): try f.message("job", id, "status", status)
    case .results(let id, let payload): try f.message("results", id, payload)
    case .memoryShare(let id, let byteCount): try f.message("memory_share", id, "bytes", byteCount)
    case .got(let id, let payload): try f.message("got", id, payload)
    case .preview(let id, let number, let thumbnail):
      try f.message("preview", id, "number", number, "thumbnail", thumbnail)
    case .progress(let id, let payload): try f.message("progress", id, payload)
    case .fetch(let id, let payload): try f.message("fetch", id, payload)
    case .filesRead(let id): try f.message("files_read", id)
    case .waiting(let id, let wait): try f.message("waiting", id, "wait", wait)
    case .detached(let id): try f.message("detached", id)
    case .forgotten(let id): try f.message("forgotten", id)
    case .sweeping(let id): try f.message("sweeping", id)
    case .stopping(let id, let clients): try f.message("stopping", id, "clients", clients)
    }
  }

  package static func read(
    _ type: String, from f: inout Fields
  ) throws(FieldError) -> Self? {
    switch type {
    case "hello": .hello(try f.payload())
    case "refused": .refused(try f.id(), try f.member("code"), message: try f.member("message"))
    case "submitted": .submitted(try f.id(), try f.member("job"), total: try f.member("total"))
    case "status": .status(try f.id(), try f.member("cluster"))
    case "jobs": .jobs(try f.id(), try f.payload())
    case "job": .job(try f.id(), try f.member("status"))
    case "results": .results(try f.id(), try f.payload())
    case "memory_share": .memoryShare(try f.id(), byteCount: try f.member("bytes"))
    case "got": .got(try f.id(), try f.payload())
    case "preview":
      .preview(try f.id(), number: try f.member("number"), try f.member("thumbnail"))
    case "progress": .progress(try f.id(), try f.payload())
    case "fetch": .fetch(try f.id(), try f.payload())
    case "files_read": .filesRead(try f.id())
    case "waiting": .waiting(try f.id(), try f.member("wait"))
    case "detached": .detached(try f.id())
    case "forgotten": .forgotten(try f.id())
    case "sweeping": .sweeping(try f.id())
    case "stopping": .stopping(try f.id(), clients: try f.optional("clients", nil) ?? [])
    default: nil
    }
  }
}

/// The result of a `get` or an `upload`.
package struct GotReply: Hashable, Sendable, Fielded {
  package let outcome: Outcome
  /// A thumbnail that is not in the store: the file beside this message has its bytes. `nil` if the
  /// thumbnail is in the store or there is none.
  package let uncached: UncachedThumbnail?
  /// The timings of a fetch or decode for this request, unless `uncached` has them.
  package let timings: Timings?

  package init(
    outcome: Outcome, uncached: UncachedThumbnail? = nil, timings: Timings? = nil
  ) {
    self.outcome = outcome
    self.uncached = uncached
    self.timings = timings
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    outcome = try f.field("outcome", value?.outcome)
    timings = try f.optional("timings", value?.timings)
    uncached = try f.optional("uncached", value?.uncached)
  }
}

/// What a client is told that is to fetch a picture.
package struct FetchWanted: Hashable, Sendable, Fielded {
  /// How long the coordinator waits for the picture.
  package let limit: Duration
  /// The file to read; `nil` for the picture of a `get`.
  package let file: WantedFile?

  package init(limit: Duration, file: WantedFile? = nil) {
    self.limit = limit
    self.file = file
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    file = try f.optional("file", value?.file)
    limit = try f.field("within_ms", value?.limit)
  }
}

/// A file that a client is to read.
package struct WantedFile: Hashable, Sendable, Fielded {
  /// See ``ImageURL/isReadByCommand``.
  package let url: String
  /// A longer file is not read.
  package let maximumByteCount: Int64

  package init(url: String, maximumByteCount: Int64) {
    self.url = url
    self.maximumByteCount = maximumByteCount
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    maximumByteCount = try f.field("max_bytes", value?.maximumByteCount)
    url = try f.field("url", value?.url)
  }
}

/// A page of jobs, newest first.
package struct JobsPage: Hashable, Sendable, Fielded {
  package let jobs: [ImageJob]
  /// Whether there are older jobs.
  package let hasMore: Bool

  /// The maximum number of jobs in a page, and the maximum size of their texts.
  package static let maximumCount = 500
  package static let maximumByteCount = 256 << 10

  package init(jobs: [ImageJob], hasMore: Bool) {
    self.jobs = jobs
    self.hasMore = hasMore
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    jobs = try f.field("jobs", value?.jobs)
    hasMore = try f.field("more", value?.hasMore)
  }
}

/// A page of a job's lines.
package struct ResultsPage: Hashable, Sendable, Fielded {
  package let entries: [LineResult]
  /// The index of the first line of the next page; `nil` on the last page.
  package let next: Int?

  /// The maximum number of lines in a page, and the maximum size of their text.
  package static let maximumCount = 500
  package static let maximumByteCount = 96 << 10

  package init(entries: [LineResult], next: Int?) {
    self.entries = entries
    self.next = next
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    entries = try f.field("entries", value?.entries)
    next = try f.optional("next", value?.next)
  }
}

extension RequestID {
  /// The number of a refusal that concerns the connection.
  package static let wholeConnection = RequestID(rawValue: 0)
}
