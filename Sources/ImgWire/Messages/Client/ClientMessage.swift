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
  case upload(UploadRequest)
  /// Has what is remembered of failures of URLs forgotten; answered by `forgotten`.
  case forget(ForgetRequest)
  /// Removes what has expired from the store, in the background; answered by `sweeping`.
  case sweep(PlainRequest)
  /// Finish what runs and leave; answered by `stopping`, and the connection closes at the end.
  case stop(PlainRequest)

  package var announcesFile: Bool {
    if case .upload = self { true } else { false }
  }
}

extension ClientMessage {
  private enum Kind: String, Codable {
    case hello, submit
    case submitLines = "submit_lines"
    case submitEnd = "submit_end"
    case status, jobs, job, results, change, limit, get
    case upload
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
    case .upload: self = .upload(try UploadRequest(from: decoder))
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
      case .upload(let request): (.upload, request)
      case .forget(let request): (.forget, request)
      case .sweep(let request): (.sweep, request)
      case .stop(let request): (.stop, request)
      }
    try container.encode(kind, forKey: .type)
    try payload.encode(to: encoder)
  }
}
