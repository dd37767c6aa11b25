package import ImgModel

/// Some jobs.
package struct JobList: Hashable, Sendable, Codable {
  package let jobs: [JobID]

  package init(jobs: [JobID]) {
    self.jobs = jobs
  }
}

/// The state of the cluster.
package struct ClusterReply: Hashable, Sendable, Codable {
  package let id: RequestID
  package let cluster: ClusterStatus

  package init(id: RequestID, cluster: ClusterStatus) {
    self.id = id
    self.cluster = cluster
  }
}

// The result of a request for one thumbnail has code of its own, unless a file comes with it.

extension CoordinatorReply {
  package func write(to json: inout JSONWriter) throws -> Bool {
    guard case .got(let got) = self, got.uncached == nil else { return false }
    try json.object { json in
      json.member("id")
      json.number(got.id.rawValue)
      json.member("outcome")
      try got.outcome.write(to: &json)
      if let timings = got.timings {
        json.member("timings")
        timings.write(to: &json)
      }
      json.member("type")
      json.string(Kind.got.rawValue)
    }
    return true
  }

  package static func read(
    _ json: inout JSONReader
  ) throws(JSONReader.NotCanonical) -> CoordinatorReply {
    try json.object { json throws(JSONReader.NotCanonical) in
      try json.member("id")
      let id = RequestID(rawValue: try json.number())
      try json.member("outcome")
      let outcome = try Outcome.read(&json)
      let timings = json.hasMember("timings") ? try Timings.read(&json) : nil
      try json.member("type")
      try json.literal(Kind.got.rawValue)
      return .got(GotReply(id: id, outcome: outcome, timings: timings))
    }
  }
}

/// A message from the coordinator to a client.
package enum CoordinatorReply: Hashable, WireMessage {
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
  enum Kind: String, Codable {
    case hello, refused, submitted, status, jobs, job, results, got, preview, progress, waiting
    case detached, forgotten, sweeping, stopping
  }

  package init(from decoder: any Decoder) throws {
    switch try decoder.container(keyedBy: TypeKey.self).decode(Kind.self, forKey: .type) {
    case .hello: self = .hello(try Hello(from: decoder))
    case .refused: self = .refused(try RequestRefusal(from: decoder))
    case .submitted: self = .submitted(try Submitted(from: decoder))
    case .status: self = .status(try ClusterReply(from: decoder))
    case .jobs: self = .jobs(try JobsPage(from: decoder))
    case .job: self = .job(try JobReply(from: decoder))
    case .results: self = .results(try ResultsPage(from: decoder))
    case .got: self = .got(try GotReply(from: decoder))
    case .preview: self = .preview(try PreviewReply(from: decoder))
    case .progress: self = .progress(try ProgressReply(from: decoder))
    case .waiting: self = .waiting(try WaitReply(from: decoder))
    case .detached: self = .detached(try PlainRequest(from: decoder))
    case .forgotten: self = .forgotten(try PlainRequest(from: decoder))
    case .sweeping: self = .sweeping(try PlainRequest(from: decoder))
    case .stopping: self = .stopping(try PlainRequest(from: decoder))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: TypeKey.self)
    let (kind, payload): (Kind, any Encodable) =
      switch self {
      case .hello(let hello): (.hello, hello)
      case .refused(let refusal): (.refused, refusal)
      case .submitted(let submitted): (.submitted, submitted)
      case .status(let reply): (.status, reply)
      case .jobs(let page): (.jobs, page)
      case .job(let reply): (.job, reply)
      case .results(let page): (.results, page)
      case .got(let reply): (.got, reply)
      case .preview(let reply): (.preview, reply)
      case .progress(let reply): (.progress, reply)
      case .waiting(let reply): (.waiting, reply)
      case .detached(let request): (.detached, request)
      case .forgotten(let request): (.forgotten, request)
      case .sweeping(let request): (.sweeping, request)
      case .stopping(let request): (.stopping, request)
      }
    try container.encode(kind, forKey: .type)
    try payload.encode(to: encoder)
  }
}

/// The result of a `get` or an `upload`.
package struct GotReply: Hashable, Sendable, Codable {
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
}

/// A page of jobs, newest first.
package struct JobsPage: Hashable, Sendable, Codable {
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

  private enum CodingKeys: String, CodingKey {
    case id, jobs
    case hasMore = "more"
  }
}

/// The state of one job.
package struct JobReply: Hashable, Sendable, Codable {
  package let id: RequestID
  package let status: ImageJob

  package init(id: RequestID, status: ImageJob) {
    self.id = id
    self.status = status
  }
}

/// A preview of the picture that a `get` waits for.
package struct PreviewReply: Hashable, Sendable, Codable {
  package let id: RequestID
  /// Counts the previews of the request from 1.
  package let number: Int
  package let thumbnail: Thumbnail

  package init(id: RequestID, number: Int, thumbnail: Thumbnail) {
    self.id = id
    self.number = number
    self.thumbnail = thumbnail
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
extension ProgressReply: Codable {
  private enum CodingKeys: String, CodingKey {
    case id
  }

  package init(from decoder: any Decoder) throws {
    id = try decoder.container(keyedBy: CodingKeys.self).decode(RequestID.self, forKey: .id)
    progress = try ImageProgress(from: decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(id, forKey: .id)
    try progress.encode(to: encoder)
  }
}

/// The reason why the coordinator refuses a request.
package struct RequestRefusal: Hashable, Sendable, Codable {
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
}

/// A page of a job's lines.
package struct ResultsPage: Hashable, Sendable, Codable {
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
}

/// An accepted job.
package struct Submitted: Hashable, Sendable, Codable {
  package let id: RequestID
  package let job: JobID
  package let total: Int

  package init(id: RequestID, job: JobID, total: Int) {
    self.id = id
    self.job = job
    self.total = total
  }
}

/// The reason why a `get` waits.
package struct WaitReply: Hashable, Sendable, Codable {
  package let id: RequestID
  package let wait: Wait

  package init(id: RequestID, wait: Wait) {
    self.id = id
    self.wait = wait
  }
}
