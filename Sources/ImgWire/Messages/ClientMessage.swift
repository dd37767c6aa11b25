package import ImgModel

/// A message from a client to the coordinator. The client numbers its requests, and each reply has the
/// number of its request. Replies to different requests may come in any order.
package enum ClientMessage: Hashable, WireMessage {
  package static let sender = "client"

  /// The first message. The coordinator answers with its hello.
  case hello(Hello)
  /// Starts a submission. Its lines follow with the same request number.
  case submit(Submission)
  /// More lines of the submission, at most ``SubmissionLines/maximumCount`` a frame.
  case submitLines(SubmissionLines)
  /// Completes the submission. The reply is `submitted`, after the job is durable.
  case submitEnd(PlainRequest)
  /// Requests the state of the cluster. The reply is `status`.
  case status(PlainRequest)
  /// Requests a page of jobs, newest first. The reply is `jobs`.
  case jobs(JobsRequest)
  /// Requests the state of one job. The reply is `job`; with `watch`, another `job` follows each
  /// change until the job ends.
  case job(JobRequest)
  /// Requests a page of a job's URLs with their outcomes. The reply is `results`.
  case results(ResultsRequest)
  /// Changes a job. The reply is `job`, after the change is durable.
  case change(ChangeRequest)
  /// Changes limits of the running coordinator. The reply is `status`.
  case limit(LimitRequest)
  /// Requests one thumbnail, before all jobs. The reply is `got`, after `preview` and `progress` replies if
  /// the client wants them.
  case get(GetRequest)
  /// The client has taken a preview, and takes the next one. There is no reply if the request has ended
  /// or wants no previews.
  case nextPreview(PlainRequest)
  /// Requests a thumbnail of the picture in the file beside this message. The reply is `got`.
  case upload(UploadRequest)
  /// The client no longer waits for the `get`, `upload` or watched `job` of this number. The reply is the
  /// `got` of that request, as cancelled, or `detached` for a job. There is none if the request has ended.
  case detach(PlainRequest)
  /// Deletes the remembered failures of URLs. The reply is `forgotten`.
  case forget(ForgetRequest)
  /// Removes expired thumbnails in the background. The reply is `sweeping`.
  case sweep(PlainRequest)
  /// Stops the coordinator after it has finished its leases. The reply is `stopping`; the connection
  /// closes at the end.
  case stop(PlainRequest)

  package var announcesFile: Bool {
    if case .upload = self { true } else { false }
  }
}

extension ClientMessage {
  enum Kind: String, Codable {
    case hello, submit
    case submitLines = "submit_lines"
    case submitEnd = "submit_end"
    case status, jobs, job, results, change, limit, get
    case nextPreview = "next_preview"
    case upload, detach
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
    case .nextPreview: self = .nextPreview(try PlainRequest(from: decoder))
    case .upload: self = .upload(try UploadRequest(from: decoder))
    case .detach: self = .detach(try PlainRequest(from: decoder))
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
      case .nextPreview(let request): (.nextPreview, request)
      case .upload(let request): (.upload, request)
      case .detach(let request): (.detach, request)
      case .forget(let request): (.forget, request)
      case .sweep(let request): (.sweep, request)
      case .stop(let request): (.stop, request)
      }
    try container.encode(kind, forKey: .type)
    try payload.encode(to: encoder)
  }
}

// Lines of lists and requests for single thumbnails have code of their own.

extension ClientMessage {
  package func write(to json: inout JSONWriter) throws -> Bool {
    switch self {
    case .submitLines(let lines): lines.write(to: &json, kind: .submitLines)
    case .get(let request): try request.write(to: &json, kind: .get)
    default: return false
    }
    return true
  }

  package static func read(
    _ json: inout JSONReader
  ) throws(JSONReader.NotCanonical) -> ClientMessage {
    try json.object { json throws(JSONReader.NotCanonical) in
      try json.member("id")
      let id = RequestID(rawValue: try json.number())
      if json.hasMember("lines") { return .submitLines(try SubmissionLines.read(&json, id: id)) }
      return .get(try GetRequest.read(&json, id: id))
    }
  }
}

extension SubmissionLines {
  fileprivate func write(to json: inout JSONWriter, kind: ClientMessage.Kind) {
    json.object { json in
      json.member("id")
      json.number(id.rawValue)
      json.member("lines")
      json.array(lines) { json, line in json.string(line) }
      json.member("type")
      json.string(kind.rawValue)
    }
  }

  /// Reads the rest of the message, from the value of its second member on.
  fileprivate static func read(
    _ json: inout JSONReader, id: RequestID
  ) throws(JSONReader.NotCanonical) -> SubmissionLines {
    let lines = try json.array { json throws(JSONReader.NotCanonical) in try json.string() }
    try json.member("type")
    try json.literal(ClientMessage.Kind.submitLines.rawValue)
    return SubmissionLines(id: id, lines: lines)
  }
}

extension GetRequest {
  fileprivate func write(to json: inout JSONWriter, kind: ClientMessage.Kind) throws {
    try json.object { json in
      json.member("id")
      json.number(id.rawValue)
      json.member("incremental")
      json.bool(wantsPreviews)
      json.milliseconds("max_retry_after_ms", maximumRetryAfter)
      json.member("no_cache")
      json.bool(bypassesStore)
      json.member("options")
      try json.options(options)
      json.member("progress")
      json.bool(wantsProgress)
      json.member("type")
      json.string(kind.rawValue)
      json.member("url")
      json.string(url)
      if let viewer {
        json.member("viewer")
        json.string(viewer)
      }
    }
  }

  /// Reads the rest of the message, from its second member on.
  fileprivate static func read(
    _ json: inout JSONReader, id: RequestID
  ) throws(JSONReader.NotCanonical) -> GetRequest {
    try json.member("incremental")
    let wantsPreviews = try json.bool()
    let maximumRetryAfter = try json.milliseconds("max_retry_after_ms")
    try json.member("no_cache")
    let bypassesStore = try json.bool()
    try json.member("options")
    let options = try json.options()
    try json.member("progress")
    let wantsProgress = try json.bool()
    try json.member("type")
    try json.literal(ClientMessage.Kind.get.rawValue)
    try json.member("url")
    let url = try json.string()
    let viewer = json.hasMember("viewer") ? try json.string() : nil
    return GetRequest(
      id: id, url: url, viewer: viewer, options: options, bypassesStore: bypassesStore,
      wantsPreviews: wantsPreviews, wantsProgress: wantsProgress,
      maximumRetryAfter: maximumRetryAfter)
  }
}

/// The first message in each direction of every connection.
package struct Hello: Hashable, Sendable, Codable {
  package let protocolVersion: Int
  /// The version of the sender's program, for people.
  package let version: String
  package let processID: Int32
  /// The store's directory; only in the coordinator's hello to a client.
  package let storeDirectory: String?

  package init(
    protocolVersion: Int = Build.protocolVersion, version: String = Build.version,
    processID: Int32, storeDirectory: String? = nil
  ) {
    self.storeDirectory = storeDirectory
    self.protocolVersion = protocolVersion
    self.version = version
    self.processID = processID
  }

  private enum CodingKeys: String, CodingKey {
    case protocolVersion = "protocol"
    case version
    case processID = "pid"
    case storeDirectory = "store"
  }
}

/// A request or a reply without parameters.
package struct PlainRequest: Hashable, Sendable, Codable {
  package let id: RequestID

  package init(id: RequestID) {
    self.id = id
  }
}
