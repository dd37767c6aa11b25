@_spi(Coding) package import ImgModel

/// Some jobs.
package struct JobList: Hashable, Sendable, Fielded {
  package let jobs: [JobID]

  package init(jobs: [JobID]) {
    self.jobs = jobs
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    jobs = try f.field("jobs", value?.jobs)
  }
}

/// The state of the cluster.
package struct ClusterReply: Hashable, Sendable, Fielded {
  package let id: RequestID
  package let cluster: ClusterStatus

  package init(id: RequestID, cluster: ClusterStatus) {
    self.id = id
    self.cluster = cluster
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    cluster = try f.field("cluster", value?.cluster)
    id = try f.field("id", value?.id)
  }
}

/// A message from the coordinator to a client.
package indirect enum CoordinatorReply: Hashable, WireMessage {
  package static let sender = "coordinator"

  /// The first message. A client with another protocol version gets it before the connection closes.
  case hello(Hello)
  /// The coordinator refuses the request.
  case refused(RequestRefusal)
  /// The job is durable.
  case submitted(Submitted)
  case status(ClusterReply)
  case jobs(JobsPage)
  case job(JobReply)
  case results(ResultsPage)
  case got(GotReply)
  /// A preview of the picture that a `get` waits for. The file beside this message has its bytes. The next
  /// one follows after a `next_preview`.
  case preview(PreviewReply)
  /// How much has arrived of the picture that a `get` waits for. A client that is behind with reading is
  /// sent fewer.
  case progress(ProgressReply)
  /// Why a `get` has waited for a while. Sent again when the reason changes, until the `got`.
  case waiting(WaitReply)
  /// The client that detached from a watched job is sent no more of it.
  case detached(PlainRequest)
  /// The remembered failures are deleted.
  case forgotten(PlainRequest)
  /// A worker removes expired thumbnails. If no worker is ready, the next one to start does.
  case sweeping(PlainRequest)
  case stopping(PlainRequest)

  package var announcesFile: Bool {
    switch self {
    case .got(let got): got.uncached != nil
    case .preview: true
    default: false
    }
  }
}

extension CoordinatorReply {
  package func write(to f: inout Fields) throws(FieldError) {
    switch self {
    case .hello(let payload): try f.message("hello", payload)
    case .refused(let payload): try f.message("refused", payload)
    case .submitted(let payload): try f.message("submitted", payload)
    case .status(let payload): try f.message("status", payload)
    case .jobs(let payload): try f.message("jobs", payload)
    case .job(let payload): try f.message("job", payload)
    case .results(let payload): try f.message("results", payload)
    case .got(let payload): try f.message("got", payload)
    case .preview(let payload): try f.message("preview", payload)
    case .progress(let payload): try f.message("progress", payload)
    case .waiting(let payload): try f.message("waiting", payload)
    case .detached(let payload): try f.message("detached", payload)
    case .forgotten(let payload): try f.message("forgotten", payload)
    case .sweeping(let payload): try f.message("sweeping", payload)
    case .stopping(let payload): try f.message("stopping", payload)
    }
  }

  package static func read(
    _ type: String, from f: inout Fields
  ) throws(FieldError) -> Self? {
    switch type {
    case "hello": .hello(try f.payload())
    case "refused": .refused(try f.payload())
    case "submitted": .submitted(try f.payload())
    case "status": .status(try f.payload())
    case "jobs": .jobs(try f.payload())
    case "job": .job(try f.payload())
    case "results": .results(try f.payload())
    case "got": .got(try f.payload())
    case "preview": .preview(try f.payload())
    case "progress": .progress(try f.payload())
    case "waiting": .waiting(try f.payload())
    case "detached": .detached(try f.payload())
    case "forgotten": .forgotten(try f.payload())
    case "sweeping": .sweeping(try f.payload())
    case "stopping": .stopping(try f.payload())
    default: nil
    }
  }
}

/// The result of a `get` or an `upload`.
package struct GotReply: Hashable, Sendable, Fielded {
  package let id: RequestID
  package let outcome: Outcome
  /// A thumbnail that is not in the store: the file beside this message has its bytes. `nil` if the
  /// thumbnail is in the store or there is none.
  package let uncached: UncachedThumbnail?
  /// The timings of a fetch or decode for this request, unless `uncached` has them.
  package let timings: Timings?

  package init(
    id: RequestID, outcome: Outcome, uncached: UncachedThumbnail? = nil, timings: Timings? = nil
  ) {
    self.id = id
    self.outcome = outcome
    self.uncached = uncached
    self.timings = timings
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    id = try f.field("id", value?.id)
    outcome = try f.field("outcome", value?.outcome)
    timings = try f.optional("timings", value?.timings)
    uncached = try f.optional("uncached", value?.uncached)
  }
}

/// A page of jobs, newest first.
package struct JobsPage: Hashable, Sendable, Fielded {
  package let id: RequestID
  package let jobs: [ImageJob]
  /// Whether there are older jobs.
  package let hasMore: Bool

  package static let maximumCount = 500

  package init(id: RequestID, jobs: [ImageJob], hasMore: Bool) {
    self.id = id
    self.jobs = jobs
    self.hasMore = hasMore
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    id = try f.field("id", value?.id)
    jobs = try f.field("jobs", value?.jobs)
    hasMore = try f.field("more", value?.hasMore)
  }
}

/// The state of one job.
package struct JobReply: Hashable, Sendable, Fielded {
  package let id: RequestID
  package let status: ImageJob

  package init(id: RequestID, status: ImageJob) {
    self.id = id
    self.status = status
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    id = try f.field("id", value?.id)
    status = try f.field("status", value?.status)
  }
}

/// A preview of the picture that a `get` waits for.
package struct PreviewReply: Hashable, Sendable, Fielded {
  package let id: RequestID
  /// Counts the previews of the request from 1.
  package let number: Int
  package let thumbnail: Thumbnail

  package init(id: RequestID, number: Int, thumbnail: Thumbnail) {
    self.id = id
    self.number = number
    self.thumbnail = thumbnail
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    id = try f.field("id", value?.id)
    number = try f.field("number", value?.number)
    thumbnail = try f.field("thumbnail", value?.thumbnail)
  }
}

/// How much has arrived of the picture that a `get` waits for.
package struct ProgressReply: Hashable, Sendable {
  package let id: RequestID
  package let progress: ImageProgress

  package init(id: RequestID, progress: ImageProgress) {
    self.id = id
    self.progress = progress
  }
}

// The members of the progress are beside the number of the request.
extension ProgressReply: Fielded {
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    id = try f.field("id", value?.id)
    progress = try ImageProgress(&f, value?.progress)
  }
}

/// The reason why the coordinator refuses a request.
package struct RequestRefusal: Hashable, Sendable, Fielded {
  /// The request number of a refusal that concerns the connection, which then closes.
  package static let wholeConnection = RequestID(rawValue: 0)

  package let id: RequestID
  package let code: Failure.Code
  /// A sentence for people.
  package let message: String

  package init(id: RequestID, code: Failure.Code, message: String) {
    self.id = id
    self.code = code
    self.message = message
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    code = try f.field("code", value?.code)
    id = try f.field("id", value?.id)
    message = try f.field("message", value?.message)
  }
}

/// A page of a job's lines.
package struct ResultsPage: Hashable, Sendable, Fielded {
  package let id: RequestID
  package let entries: [LineResult]
  /// The index of the first line of the next page; `nil` on the last page.
  package let next: Int?

  /// The maximum number of lines in a page, and the maximum size of their text.
  package static let maximumCount = 500
  package static let maximumByteCount = 96 << 10

  package init(id: RequestID, entries: [LineResult], next: Int?) {
    self.id = id
    self.entries = entries
    self.next = next
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    entries = try f.field("entries", value?.entries)
    id = try f.field("id", value?.id)
    next = try f.optional("next", value?.next)
  }
}

/// An accepted job.
package struct Submitted: Hashable, Sendable, Fielded {
  package let id: RequestID
  package let job: JobID
  package let total: Int

  package init(id: RequestID, job: JobID, total: Int) {
    self.id = id
    self.job = job
    self.total = total
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    id = try f.field("id", value?.id)
    job = try f.field("job", value?.job)
    total = try f.field("total", value?.total)
  }
}

/// The reason why a `get` waits.
package struct WaitReply: Hashable, Sendable, Fielded {
  package let id: RequestID
  package let wait: Wait

  package init(id: RequestID, wait: Wait) {
    self.id = id
    self.wait = wait
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    id = try f.field("id", value?.id)
    wait = try f.field("wait", value?.wait)
  }
}
