package import ImgModel
package import ImgSystem
package import ImgWire

/// A request to the coordinator and its answer. A thread asks it with ``Client/answer(_:onUpdate:)`` and waits;
/// tasks ask it with ``CoordinatorSession/answer(_:until:onUpdate:)``.
package struct CoordinatorRequest<Answer: Sendable>: Sendable {
  var exchange: Exchange
  /// Reads the answer in the last reply.
  let answer: @Sendable (ReceivedReply) throws(ClientError) -> Answer
}

extension CoordinatorRequest {
  /// - Parameter answer: the answer in a reply; `nil` for the reply to another question.
  fileprivate init(
    _ exchange: Exchange, answer: @escaping @Sendable (CoordinatorReply) -> Answer?
  ) {
    self.exchange = exchange
    self.answer = { reply throws(ClientError) in
      guard let answer = answer(reply.message) else { throw .unexpectedReply }
      return answer
    }
  }
}

// MARK: - The cluster

extension CoordinatorRequest where Answer == ClusterStatus {
  /// What the coordinator tells of itself and its workers.
  package static var status: Self {
    Self(Exchange { .status($0) }) { $0.cluster }
  }

  /// Changes limits of the coordinator until it ends. The answer has the limits that hold from now on.
  package static func limit(_ limits: LimitChange) -> Self {
    Self(Exchange { .limit($0, limits) }) { $0.cluster }
  }
}

extension CoordinatorRequest where Answer == [Int32] {
  /// Asks the coordinator to finish what runs and to leave. The next coordinator is not asked. The answer has the
  /// processes of the other clients.
  static var stop: Self {
    Self(Exchange(isRepeatable: false) { .stop($0) }) {
      if case .stopping(_, let clients) = $0 { clients } else { nil }
    }
  }
}

extension CoordinatorRequest where Answer == Void {
  /// Starts the removal of what has expired from the store. A worker removes it in its pauses.
  package static var sweep: Self {
    Self(Exchange { .sweep($0) }) { if case .sweeping = $0 { () } else { nil } }
  }

  /// Makes the coordinator fetch pictures again that it remembers as missing.
  ///
  /// - Parameter urls: in the spelling of ``ImageURL/text``; no more than fit a frame.
  static func forget(_ urls: [String]) -> Self {
    Self(Exchange { .forget($0, urls: urls) }) { if case .forgotten = $0 { () } else { nil } }
  }
}

// MARK: - Jobs

extension CoordinatorRequest where Answer == Void {
  /// Reads files for a job, one at a time, until it needs none any more.
  static func readFiles(of job: JobID) -> Self {
    Self(Exchange(isPrompt: false, updates: .ofPicture) { .readFiles($0, job) }) {
      if case .filesRead = $0 { () } else { nil }
    }
  }
}

extension CoordinatorRequest where Answer == ImageJob {
  package static func job(_ job: JobID) -> Self {
    Self(Exchange { .job($0, job, isWatching: false) }) { $0.job }
  }

  /// A job, again after each change. The answer is its end.
  static func watch(_ job: JobID) -> Self {
    Self(
      Exchange(isPrompt: false, updates: .ofJob) { .job($0, job, isWatching: true) }
    ) { $0.job }
  }

  /// Changes a job. The answer comes once the change is durable: the job after it, or for a removal before it.
  ///
  /// It is refused with `wrong_state` where the job's state does not allow the change;
  /// ``JobRecord/apply(_:at:)`` says when it does.
  package static func change(_ job: JobID, _ change: ImageJobChange) -> Self {
    Self(
      Exchange(isRepeatable: false, isPrompt: false) { .change($0, change, of: job) }
    ) { $0.job }
  }
}

extension CoordinatorRequest where Answer == JobsPage {
  /// Jobs, or those of them that have not ended, newest first; `before` continues an earlier page.
  package static func jobs(
    before: JobID? = nil, isActiveOnly: Bool = false
  ) -> CoordinatorRequest<JobsPage> {
    Self(Exchange { .jobs($0, JobsRequest(before: before, isActiveOnly: isActiveOnly)) }) {
      if case .jobs(_, let page) = $0 { page } else { nil }
    }
  }
}

extension CoordinatorRequest where Answer == ResultsPage {
  /// A page of the job's lines, or of those that failed.
  ///
  /// - Parameter start: the index of the first line.
  static func results(of job: JobID, from start: Int, isFailedOnly: Bool = false) -> Self {
    Self(
      Exchange {
        .results($0, ResultsRequest(job: job, from: start, isFailedOnly: isFailedOnly))
      }
    ) { if case .results(_, let page) = $0 { page } else { nil } }
  }
}

// MARK: - Pictures

extension CoordinatorRequest where Answer == GetResult {
  /// Requests a thumbnail, before all batches.
  ///
  /// The answer comes when the thumbnail is in the store, comes with the answer because it is not, cannot be
  /// made, or was superseded by a later request of the same viewer, which ends it as cancelled. The delay in
  /// `options` and the coordinator's limits bound how long that takes. Updates tell before that what it waits
  /// for, once that has taken a while and whenever it changes.
  ///
  /// Before that there is a preview after each that the caller has taken, if it wants them.
  package static func get(_ request: GetRequest) -> Self { picture { .get($0, request) } }

  /// The same for a request of the library.
  ///
  /// - Parameters:
  ///   - maximumRetryAfter: see ``ImageRequest/maximumRetryAfter``.
  ///   - isObserved: whether there are updates: previews if the request is incremental, else progress.
  ///   - offersFetch: whether this process can fetch the picture by itself.
  static func load(
    _ asked: ClusterRequest, maximumRetryAfter: Duration?, isObserved: Bool,
    offersFetch: Bool = false
  ) -> Self {
    get(
      GetRequest(
        url: asked.url.text, options: asked.options,
        updates: isObserved ? asked.updates : [],
        maximumRetryAfter: maximumRetryAfter, offersFetch: offersFetch)
    ).inTurn(of: asked)
  }

  /// Sends a picture in a sealed memory file. It is treated as if it had been fetched just now.
  ///
  /// - Parameters:
  ///   - url: see ``UploadRequest/url``. Without it a thumbnail always comes with the answer.
  ///   - options: without a delay.
  ///   - wantsPixels: see ``UploadRequest/wantsPixels``.
  /// - Throws: if the process has no memory or descriptors left.
  package static func upload(
    _ picture: [UInt8], as url: String?, options: RequestOptions, wantsPixels: Bool = false
  ) throws(SystemError) -> Self {
    let byteCount = picture.count
    var request = Self.picture {
      .upload(
        $0,
        UploadRequest(
          url: url, byteCount: byteCount, options: options, wantsPixels: wantsPixels))
    }
    request.exchange.file = try MemoryFile(containing: picture).file
    return request
  }

  private static func picture(_ message: @escaping @Sendable (RequestID) -> ClientMessage) -> Self {
    Self(exchange: Exchange(isPrompt: false, updates: .ofPicture, message: message)) {
      reply throws(ClientError) in
      guard case .got(_, let got) = reply.message else { throw .unexpectedReply }
      guard let facts = got.uncached else {
        return GetResult(outcome: got.outcome, uncached: nil, timings: got.timings)
      }
      return GetResult(
        outcome: got.outcome, uncached: UncachedPicture(facts: facts, bytes: try reply.bytes()),
        timings: facts.timings)
    }
  }

  /// The request waits in a session until it is the turn of its host.
  func inTurn(of asked: ClusterRequest) -> Self {
    var request = self
    request.exchange.turn = .load(host: asked.url.host, priority: asked.options.priority)
    return request
  }
}

/// The end of a `get` or an `upload`.
package struct GetResult: Sendable {
  package let outcome: Outcome
  /// The thumbnail if it was made but not stored; no later request can read it. `nil` if it is in the
  /// store or was not made.
  package let uncached: UncachedPicture?
  /// How long each step took; `nil` for a thumbnail that was in the store.
  package let timings: Timings?
}

/// A thumbnail that is not in the store, and its bytes.
package struct UncachedPicture: Sendable {
  package let facts: UncachedThumbnail
  package let bytes: [UInt8]
}

// MARK: - Messages

/// The messages of a request: how it is sent, and what its replies mean.
struct Exchange: Sendable {
  /// What a reply is to the request.
  enum Step: Sendable {
    /// It is an update, and others follow. The message is sent in return.
    case more(ClientMessage?)
    /// The coordinator is leaving. The next one may answer.
    case again
    /// It has the answer.
    case answer
  }

  /// The replies that may come before the answer. Any other reply ends the request.
  enum Updates: Sendable {
    case none
    /// Why a picture is not there yet, how much of it has arrived, and what it looks like; what to fetch or read.
    case ofPicture
    /// The job after each change, until it has ended.
    case ofJob
  }

  /// What decides when a session sends the request, among those that wait.
  enum Turn: Sendable {
    /// A question that the coordinator answers by itself: before all loads.
    case first
    /// A load from a host.
    case load(host: String, priority: Int)
  }

  /// The request, under a number of the connection that it is sent over.
  let message: @Sendable (RequestID) -> ClientMessage
  /// The file beside the request; `nil` if that announces none.
  var file: PassedFile?
  var turn = Turn.first
  /// Whether the request may be sent again over the next connection when its own is lost.
  let isRepeatable: Bool
  /// Whether the coordinator has the answer at hand. A thread does not wait for ever for such an answer.
  let isPrompt: Bool
  /// What may come before the answer. If a task no longer waits for it, the coordinator is told.
  let updates: Updates

  init(
    isRepeatable: Bool = true, isPrompt: Bool = true, updates: Updates = .none,
    message: @escaping @Sendable (RequestID) -> ClientMessage
  ) {
    self.message = message
    self.isRepeatable = isRepeatable
    self.isPrompt = isPrompt
    self.updates = updates
  }

  func step(after reply: CoordinatorReply) -> Step {
    switch (updates, reply) {
    case (.ofPicture, .waiting), (.ofPicture, .progress), (.ofPicture, .fetch): .more(nil)
    case (.ofPicture, .preview(let id, _, _)): .more(.nextPreview(id))
    case (.ofPicture, .got(_, let got)): got.outcome.isOfLeavingCoordinator ? .again : .answer
    case (.ofJob, .job(_, let job)): job.hasEnded ? .answer : .more(nil)
    default: .answer
    }
  }
}

extension Outcome {
  /// Whether the coordinator stops, so that it no longer makes the thumbnail.
  fileprivate var isOfLeavingCoordinator: Bool {
    if case .failed(let failure, _) = self {
      failure.code == .cancelled && failure.isRetryable
    } else {
      false
    }
  }
}

/// A reply of the coordinator, with the contents of the file beside it. They are read when the reply arrives,
/// so that no descriptor stays open until a task runs.
package struct ReceivedReply: Sendable {
  let message: CoordinatorReply
  /// `nil` for a message that announces no file.
  private let contents: Result<[UInt8], SystemError>?

  init(_ delivery: Delivery<CoordinatorReply>) {
    message = delivery.message
    contents = delivery.message.announcedByteCount.map { byteCount in
      Result { () throws(SystemError) in
        try MemoryFile(delivery.announcedFile).contents(byteCount: byteCount)
      }
    }
  }

  /// The contents of the file; none if there is no file.
  func bytes() throws(ClientError) -> [UInt8] {
    try rethrowing(try contents?.get() ?? []) { (error: SystemError) in
      ClientError.connection(.system(error))
    }
  }
}

extension CoordinatorReply {
  /// The bytes of the file beside the message; `nil` if it announces none.
  fileprivate var announcedByteCount: Int? {
    switch self {
    case .got(_, let got): got.uncached?.thumbnail.byteCount
    case .preview(_, _, let thumbnail): thumbnail.byteCount
    default: nil
    }
  }

  fileprivate var cluster: ClusterStatus? {
    if case .status(_, let cluster) = self { cluster } else { nil }
  }

  fileprivate var job: ImageJob? {
    if case .job(_, let job) = self { job } else { nil }
  }
}
