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
