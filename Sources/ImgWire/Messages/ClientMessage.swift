@_spi(Coding) package import ImgModel

/// A message from a client to the coordinator. The client numbers its requests, and each reply has the
/// number of its request. Replies to different requests may come in any order.
package indirect enum ClientMessage: Hashable, WireMessage {
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
  package func write(to f: inout Fields) throws(FieldError) {
    switch self {
    case .hello(let payload): try f.message("hello", payload)
    case .submit(let payload): try f.message("submit", payload)
    case .submitLines(let payload): try f.message("submit_lines", payload)
    case .submitEnd(let payload): try f.message("submit_end", payload)
    case .status(let payload): try f.message("status", payload)
    case .jobs(let payload): try f.message("jobs", payload)
    case .job(let payload): try f.message("job", payload)
    case .results(let payload): try f.message("results", payload)
    case .change(let payload): try f.message("change", payload)
    case .limit(let payload): try f.message("limit", payload)
    case .get(let payload): try f.message("get", payload)
    case .nextPreview(let payload): try f.message("next_preview", payload)
    case .upload(let payload): try f.message("upload", payload)
    case .detach(let payload): try f.message("detach", payload)
    case .forget(let payload): try f.message("forget", payload)
    case .sweep(let payload): try f.message("sweep", payload)
    case .stop(let payload): try f.message("stop", payload)
    }
  }

  package static func read(
    _ type: String, from f: inout Fields
  ) throws(FieldError) -> Self? {
    switch type {
    case "hello": .hello(try f.payload())
    case "submit": .submit(try f.payload())
    case "submit_lines": .submitLines(try f.payload())
    case "submit_end": .submitEnd(try f.payload())
    case "status": .status(try f.payload())
    case "jobs": .jobs(try f.payload())
    case "job": .job(try f.payload())
    case "results": .results(try f.payload())
    case "change": .change(try f.payload())
    case "limit": .limit(try f.payload())
    case "get": .get(try f.payload())
    case "next_preview": .nextPreview(try f.payload())
    case "upload": .upload(try f.payload())
    case "detach": .detach(try f.payload())
    case "forget": .forget(try f.payload())
    case "sweep": .sweep(try f.payload())
    case "stop": .stop(try f.payload())
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

  package init(
    protocolVersion: Int = Build.protocolVersion, version: String = Build.version,
    processID: Int32, storeDirectory: String? = nil
  ) {
    self.storeDirectory = storeDirectory
    self.protocolVersion = protocolVersion
    self.version = version
    self.processID = processID
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    processID = try f.field("pid", value?.processID)
    protocolVersion = try f.field("protocol", value?.protocolVersion)
    storeDirectory = try f.optional("store", value?.storeDirectory)
    version = try f.field("version", value?.version)
  }
}

/// A request or a reply without parameters.
package struct PlainRequest: Hashable, Sendable, Fielded {
  package let id: RequestID

  package init(id: RequestID) {
    self.id = id
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    id = try f.field("id", value?.id)
  }
}
