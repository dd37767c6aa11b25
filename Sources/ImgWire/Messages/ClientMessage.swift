/// What a client asks of the coordinator. Every request carries the client's number for it, and
/// every reply the number of its request; replies to different requests may come in any order.
package enum ClientMessage: Hashable, WireMessage {
  package static let speaker = "client"

  /// The first frame; answered by the coordinator's hello.
  case hello(Hello)
  /// Opens a submission: lists follow under the same request number.
  case submit(Submission)
  /// The next lines of the open submission. At most ``SubmissionLines/maximumCount`` a frame.
  case submitLines(SubmissionLines)
  /// The list is complete. Answered by `submitted` once the job is durable.
  case submitEnd(PlainRequest)
  /// The cluster's state; answered by `status`.
  case status(PlainRequest)
  /// Jobs, newest first; answered by `jobs`.
  case jobs(JobsRequest)
  /// One job's state; answered by `job`, and with `watch` again whenever it changes, until it has
  /// ended.
  case job(JobRequest)
  /// One page of a job's URLs with their outcomes; answered by `results`.
  case results(ResultsRequest)
  /// Changes a job; answered by `job` once the change is durable.
  case change(ChangeRequest)
  /// Changes limits of the running coordinator; answered by `status`.
  case limit(LimitRequest)
  /// One URL, before all batches; answered by `got`.
  case get(GetRequest)
  /// A picture that the client has itself, in the file beside this message; answered by `got`.
  case handIn(HandInRequest)
  /// Has what is remembered of failures of URLs forgotten; answered by `forgotten`.
  case forget(ForgetRequest)
  /// Removes what has expired from the store, in the background; answered by `sweeping`.
  case sweep(PlainRequest)
  /// Finish what runs and leave; answered by `stopping`, and the connection closes at the end.
  case stop(PlainRequest)

  package var announcesFile: Bool {
    if case .handIn = self { true } else { false }
  }
}

/// A request that is only its name.
package struct PlainRequest: Hashable, Sendable, Codable {
  package let id: RequestID

  package init(id: RequestID) {
    self.id = id
  }
}

/// The opening of a submission.
package struct Submission: Hashable, Sendable, Codable {
  package let id: RequestID
  package let name: String?
  package let options: RequestOptions
  package let order: LineOrder

  package init(id: RequestID, name: String?, options: RequestOptions, order: LineOrder) {
    self.id = id
    self.name = name
    self.options = options
    self.order = order
  }
}

/// Lines of a list, each one URL as it was written.
package struct SubmissionLines: Hashable, Sendable, Codable {
  package let id: RequestID
  package let lines: [String]

  package static let maximumCount = 1_000
  /// The most bytes of text in one frame's lines together; JSON may write a byte as six.
  package static let maximumByteCount = 128 << 10

  package init(id: RequestID, lines: [String]) {
    self.id = id
    self.lines = lines
  }
}

/// A page of the list of jobs.
package struct JobsRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  /// Only jobs older than this one; `nil` for the newest.
  package let before: JobID?
  /// Whether jobs that have ended are left out.
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

/// A request about one job.
package struct JobRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let job: JobID
  /// Whether replies follow each change until the job ends.
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

/// A change of one job.
package struct ChangeRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let job: JobID
  package let change: JobChange

  package init(id: RequestID, job: JobID, change: JobChange) {
    self.id = id
    self.job = job
    self.change = change
  }
}

/// A change of the limits of the running coordinator.
package struct LimitRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let limits: LimitChange

  package init(id: RequestID, limits: LimitChange) {
    self.id = id
    self.limits = limits
  }
}

/// A page of results.
package struct ResultsRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let job: JobID
  /// The first line's index wanted, from 0.
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

  /// Decodes with a check: there is nothing before the first line.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let from = try container.decode(Int.self, forKey: .from)
    guard from >= 0 else {
      throw DecodingError.dataCorruptedError(
        forKey: .from, in: container, debugDescription: "lines are counted from 0")
    }
    self.init(
      id: try container.decode(RequestID.self, forKey: .id),
      job: try container.decode(JobID.self, forKey: .job), from: from,
      isFailedOnly: try container.decode(Bool.self, forKey: .isFailedOnly))
  }
}

/// One picture for somebody who waits.
package struct GetRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  package let url: String
  /// Names the place where the picture is to be shown: it shows one picture at a time, so that a
  /// later request of the same name, from any client, takes the place of this one, which then ends
  /// as cancelled. `nil` for a request that stands by itself.
  package let viewer: String?
  package let options: RequestOptions
  /// Whether the picture is fetched whatever the store has, and not stored.
  package let bypassesStore: Bool

  package static let maximumViewerByteCount = 200

  package init(
    id: RequestID, url: String, viewer: String? = nil, options: RequestOptions,
    bypassesStore: Bool = false
  ) {
    self.id = id
    self.url = url
    self.viewer = viewer
    self.options = options
    self.bypassesStore = bypassesStore
  }

  private enum CodingKeys: String, CodingKey {
    case id, url, viewer, options
    case bypassesStore = "no_cache"
  }
}

/// A picture that somebody hands in, to have it treated as if it had been fetched just now.
package struct HandInRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  /// What it is the picture of: there it is stored, in place of what was. `nil` to have the
  /// thumbnail handed over and nothing stored.
  package let url: String?
  /// Bytes in the file beside the message.
  package let byteCount: Int
  /// Without a delay: nothing is waited for that could be spared.
  package let options: RequestOptions

  package init(id: RequestID, url: String?, byteCount: Int, options: RequestOptions) {
    self.id = id
    self.url = url
    self.byteCount = byteCount
    self.options = options
  }

  private enum CodingKeys: String, CodingKey {
    case id, url
    case byteCount = "bytes"
    case options
  }
}

/// URLs whose remembered failures are to be forgotten.
package struct ForgetRequest: Hashable, Sendable, Codable {
  package let id: RequestID
  /// In the spelling of ``ImageURL/text``.
  package let urls: [String]

  package init(id: RequestID, urls: [String]) {
    self.id = id
    self.urls = urls
  }
}

extension ClientMessage {
  private enum Kind: String, Codable {
    case hello, submit
    case submitLines = "submit_lines"
    case submitEnd = "submit_end"
    case status, jobs, job, results, change, limit, get
    case handIn = "hand_in"
    case forget, sweep, stop
  }

  package init(from decoder: any Decoder) throws {
    switch try decoder.container(keyedBy: TypeKey.self).decode(Kind.self, forKey: .type) {
    case .hello: self = .hello(try Hello(from: decoder))
    case .submit: self = .submit(try Submission(from: decoder))
    case .submitLines: self = .submitLines(try SubmissionLines(from: decoder))
    case .submitEnd: self = .submitEnd(try PlainRequest(from: decoder))
    case .status: self = .status(try PlainRequest(from: decoder))
    case .jobs: self = .jobs(try JobsRequest(from: decoder))
    case .job: self = .job(try JobRequest(from: decoder))
    case .results: self = .results(try ResultsRequest(from: decoder))
    case .change: self = .change(try ChangeRequest(from: decoder))
    case .limit: self = .limit(try LimitRequest(from: decoder))
    case .get: self = .get(try GetRequest(from: decoder))
    case .handIn: self = .handIn(try HandInRequest(from: decoder))
    case .forget: self = .forget(try ForgetRequest(from: decoder))
    case .sweep: self = .sweep(try PlainRequest(from: decoder))
    case .stop: self = .stop(try PlainRequest(from: decoder))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: TypeKey.self)
    let (kind, payload): (Kind, any Encodable) =
      switch self {
      case .hello(let hello): (.hello, hello)
      case .submit(let submission): (.submit, submission)
      case .submitLines(let lines): (.submitLines, lines)
      case .submitEnd(let request): (.submitEnd, request)
      case .status(let request): (.status, request)
      case .jobs(let request): (.jobs, request)
      case .job(let request): (.job, request)
      case .results(let request): (.results, request)
      case .change(let request): (.change, request)
      case .limit(let request): (.limit, request)
      case .get(let request): (.get, request)
      case .handIn(let request): (.handIn, request)
      case .forget(let request): (.forget, request)
      case .sweep(let request): (.sweep, request)
      case .stop(let request): (.stop, request)
      }
    try container.encode(kind, forKey: .type)
    try payload.encode(to: encoder)
  }
}
