/// What the coordinator answers a client.
package enum CoordinatorReply: Hashable, WireMessage {
  package static let speaker = "coordinator"

  /// The first frame; also sent to a client of another protocol before it is closed.
  case hello(Hello)
  /// The request cannot be served.
  case refused(RequestRefusal)
  /// The job is durable.
  case submitted(Submitted)
  case status(ClusterReply)
  case jobs(JobsPage)
  case job(JobReply)
  case results(ResultsPage)
  case got(GotReply)
  /// What a `get` waits for, which has waited for a while; said again when that changes. Its `got`
  /// follows.
  case waiting(WaitReply)
  /// Nothing of the failures is remembered any more.
  case forgotten(PlainRequest)
  /// A worker removes what has expired, or the next one will that is ready.
  case sweeping(PlainRequest)
  case stopping(PlainRequest)

  package var announcesFile: Bool {
    if case .got(let got) = self { got.unstored != nil } else { false }
  }
}

/// A request that cannot be served, and why.
package struct RequestRefusal: Hashable, Sendable, Codable {
  package enum Code: String, Sendable, Codable {
    /// No job has that number.
    case unknownJob = "unknown_job"
    /// The job is in a state that does not allow the change.
    case wrongState = "wrong_state"
    /// The coordinator finishes what runs and takes no more.
    case stopping
    /// What was asked makes no sense at this point.
    case invalidRequest = "invalid_request"
    /// The data directory cannot be written or read now.
    case journal
    /// The coordinator cannot serve anybody, or nobody more.
    case unavailable
    /// The client's user may not ask this coordinator.
    case notPermitted = "not_permitted"
  }

  /// The request number of a refusal that is about the connection, which then closes.
  package static let wholeConnection = RequestID(rawValue: 0)

  package let id: RequestID
  package let code: Code
  /// A sentence for people.
  package let message: String

  package init(id: RequestID, code: Code, message: String) {
    self.id = id
    self.code = code
    self.message = message
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

/// The cluster's state.
package struct ClusterReply: Hashable, Sendable, Codable {
  package let id: RequestID
  package let cluster: ClusterStatus

  package init(id: RequestID, cluster: ClusterStatus) {
    self.id = id
    self.cluster = cluster
  }
}

/// A page of jobs, newest first.
package struct JobsPage: Hashable, Sendable, Codable {
  package let id: RequestID
  package let jobs: [JobStatus]
  /// Whether there are older ones.
  package let hasMore: Bool

  package static let maximumCount = 500

  package init(id: RequestID, jobs: [JobStatus], hasMore: Bool) {
    self.id = id
    self.jobs = jobs
    self.hasMore = hasMore
  }

  private enum CodingKeys: String, CodingKey {
    case id, jobs
    case hasMore = "more"
  }
}

/// One job's state.
package struct JobReply: Hashable, Sendable, Codable {
  package let id: RequestID
  package let status: JobStatus

  package init(id: RequestID, status: JobStatus) {
    self.id = id
    self.status = status
  }
}

/// A page of a job's lines.
package struct ResultsPage: Hashable, Sendable, Codable {
  package struct Entry: Hashable, Sendable, Codable {
    /// The line's place in the list, from 0.
    package let index: Int
    /// The line as it was submitted.
    package let url: String
    /// `nil` while the line waits or runs.
    package let outcome: Outcome?

    package init(index: Int, url: String, outcome: Outcome?) {
      self.index = index
      self.url = url
      self.outcome = outcome
    }
  }

  package let id: RequestID
  package let entries: [Entry]
  /// Where the next page begins; `nil` after the last.
  package let next: Int?

  /// The most lines of a page, and the most bytes of their text together.
  package static let maximumCount = 500
  package static let maximumByteCount = 96 << 10

  package init(id: RequestID, entries: [Entry], next: Int?) {
    self.id = id
    self.entries = entries
    self.next = next
  }
}

/// The end of a `get`.
package struct GotReply: Hashable, Sendable, Codable {
  package let id: RequestID
  package let outcome: Outcome
  /// What is done but not in the store; then the file beside this message holds it. `nil` for what
  /// is in the store or was not made.
  package let unstored: UnstoredThumbnail?
  /// Of what was fetched or decoded for this request, unless `unstored` tells them.
  package let timings: Timings?

  package init(
    id: RequestID, outcome: Outcome, unstored: UnstoredThumbnail? = nil, timings: Timings? = nil
  ) {
    self.id = id
    self.outcome = outcome
    self.unstored = unstored
    self.timings = timings
  }
}

/// Why a `get` is not answered yet.
package struct WaitReply: Hashable, Sendable, Codable {
  package let id: RequestID
  package let wait: Wait

  package init(id: RequestID, wait: Wait) {
    self.id = id
    self.wait = wait
  }
}

extension CoordinatorReply {
  private enum Kind: String, Codable {
    case hello, refused, submitted, status, jobs, job, results, got, waiting, forgotten, sweeping
    case stopping
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
    case .waiting: self = .waiting(try WaitReply(from: decoder))
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
      case .waiting(let reply): (.waiting, reply)
      case .forgotten(let request): (.forgotten, request)
      case .sweeping(let request): (.sweeping, request)
      case .stopping(let request): (.stopping, request)
      }
    try container.encode(kind, forKey: .type)
    try payload.encode(to: encoder)
  }
}
