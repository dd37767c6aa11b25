package import ImgModel
package import ImgSystem
package import ImgWire

/// The coordinator as a program uses it: one request at a time, each call waits for its answer.
///
/// Calls throw ``ClientError``, and what the closures that they are given throw. Belongs to one
/// thread.
package final class Client {
  let connection: CoordinatorConnection
  let socketPath: String
  /// Where the coordinator says that its workers keep thumbnails. Only compared, never opened.
  let storeDirectory: String

  /// Connects, provided that the socket and its listener are safe, and greets.
  package init(socketPath: String) throws(ClientError) {
    connection = try CoordinatorConnection(socketPath: socketPath)
    guard let storeDirectory = connection.hello.storeDirectory else { throw .unexpectedReply }
    self.storeDirectory = storeDirectory
    self.socketPath = socketPath
  }

  /// The socket.
  var descriptor: CInt { connection.channel.descriptor }

  /// The coordinator's process.
  package var coordinatorProcessID: Int32 { connection.hello.processID }

  /// Makes sure that the coordinator keeps its thumbnails in the client's own store.
  ///
  /// - Throws: ``ClientError/otherStore(socketPath:theirs:ours:)`` when it does not.
  package func requireStore(in directory: String) throws(ClientError) {
    guard storeDirectory == directory else {
      throw .otherStore(socketPath: socketPath, theirs: storeDirectory, ours: directory)
    }
  }
}

/// The coordinator and its cluster as a whole.
extension Client {
  package func status() throws(ClientError) -> ClusterStatus {
    let id = connection.newRequest()
    try connection.send(.status(PlainRequest(id: id)))
    return try clusterReply(to: id)
  }

  /// The newest jobs that have not ended.
  package func activeJobs(atMost count: Int) throws(ClientError) -> [JobStatus] {
    Array(try jobs(isActiveOnly: true).jobs.prefix(count))
  }

  /// Changes limits of the coordinator until it ends.
  ///
  /// - Returns: the cluster with the limits that hold from now on.
  package func limit(_ limits: LimitChange) throws(ClientError) -> ClusterStatus {
    let id = connection.newRequest()
    try connection.send(.limit(LimitRequest(id: id, limits: limits)))
    return try clusterReply(to: id)
  }

  private func clusterReply(to id: RequestID) throws(ClientError) -> ClusterStatus {
    guard case .status(let reply) = try connection.promptReply(to: id) else {
      throw .unexpectedReply
    }
    return reply.cluster
  }

  /// Starts the removal of what has expired from the store.
  ///
  /// - Returns: at once. A worker removes it in its pauses.
  package func sweep() throws(ClientError) {
    let id = connection.newRequest()
    try connection.send(.sweep(PlainRequest(id: id)))
    guard case .sweeping = try connection.promptReply(to: id) else { throw .unexpectedReply }
  }

  /// Asks the coordinator to finish what runs and to leave.
  ///
  /// - Returns: when it has left.
  package func stop() throws(ClientError) {
    let id = connection.newRequest()
    try connection.send(.stop(PlainRequest(id: id)))
    guard case .stopping = try connection.promptReply(to: id) else { throw .unexpectedReply }
    try connection.waitUntilClosed()
  }
}

/// Jobs: lists of URLs that are fetched in the background.
extension Client {
  /// Submits a list as one job.
  ///
  /// - Parameters:
  ///   - order: in which the lines are fetched.
  ///   - pinPolicy: how long the job pins what it stores.
  ///   - nextLines: the list's next lines, within ``SubmissionLines/maximumCount`` and
  ///     ``SubmissionLines/maximumByteCount``; `nil` at its end.
  /// - Returns: the job and the number of its lines, once it is durable.
  /// - Throws: ``ClientError/submission(isComplete:_:)`` where the connection ends first, unless
  ///   the coordinator said why before.
  package func submit(
    name: String?, options: RequestOptions, order: LineOrder = .firstInFirstOut,
    pinPolicy: PinPolicy = .none, nextLines: () throws -> [String]?
  ) throws -> (job: JobID, total: Int) {
    let id = connection.newRequest()
    try sendPart(
      .submit(
        Submission(id: id, name: name, options: options, order: order, pinPolicy: pinPolicy)))
    while let lines = try nextLines() {
      try sendPart(.submitLines(SubmissionLines(id: id, lines: lines)))
    }
    try sendPart(.submitEnd(PlainRequest(id: id)))
    do throws(ClientError) {
      guard case .submitted(let submitted) = try connection.reply(to: id, until: nil) else {
        throw .unexpectedReply
      }
      return (submitted.job, submitted.total)
    } catch .connection(let error) {
      throw ClientError.submission(isComplete: true, error)
    }
  }

  /// Sends a part of a list.
  private func sendPart(_ part: ClientMessage) throws(ClientError) {
    do throws(ClientError) {
      try connection.send(part)
    } catch .connection(let error) {
      throw .submission(isComplete: false, error)
    }
  }

  private func jobReply(_ reply: CoordinatorReply) throws(ClientError) -> JobStatus {
    guard case .job(let reply) = reply else { throw .unexpectedReply }
    return reply.status
  }

  package func status(of job: JobID) throws(ClientError) -> JobStatus {
    let id = connection.newRequest()
    try connection.send(.job(JobRequest(id: id, job: job)))
    return try jobReply(connection.promptReply(to: id))
  }

  /// Follows a job until it ends.
  ///
  /// - Parameters:
  ///   - interval: how often `body` is called at least, whether or not something has changed.
  ///   - body: takes the newest state; returns `false` to stop following.
  /// - Returns: the state that `body` saw last.
  package func watch(
    _ job: JobID, every interval: Duration, _ body: (JobStatus) throws -> Bool
  ) throws -> JobStatus {
    let id = connection.newRequest()
    try connection.send(.job(JobRequest(id: id, job: job, isWatching: true)))
    var status = try jobReply(connection.promptReply(to: id))
    while try body(status), !status.hasEnded {
      do {
        status = try jobReply(connection.reply(to: id, until: .now + interval))
      } catch ClientError.connection(.timedOut) {
        continue
      }
    }
    return status
  }

  /// Changes a job.
  ///
  /// - Returns: once the change is durable: the job after it, or for a removal before it.
  /// - Throws: ``ClientError/refused(_:message:)`` with `wrong_state` where the job's state does not
  ///   allow the change; ``JobRecord/apply(_:at:)`` says when it does.
  package func change(_ job: JobID, _ change: JobChange) throws(ClientError) -> JobStatus {
    let id = connection.newRequest()
    try connection.send(.change(ChangeRequest(id: id, job: job, change: change)))
    return try jobReply(connection.reply(to: id, until: nil))
  }

  /// Jobs, or those of them that have not ended, newest first; `before` continues an earlier page.
  package func jobs(
    before: JobID? = nil, isActiveOnly: Bool = false
  ) throws(ClientError) -> JobsPage {
    let id = connection.newRequest()
    try connection.send(.jobs(JobsRequest(id: id, before: before, isActiveOnly: isActiveOnly)))
    guard case .jobs(let page) = try connection.promptReply(to: id) else { throw .unexpectedReply }
    return page
  }

  /// Calls `body` with each job, newest first.
  package func forEachJob(_ body: (JobStatus) throws -> Void) throws {
    var oldest: JobID?
    while true {
      let page = try jobs(before: oldest)
      try page.jobs.forEach(body)
      oldest = page.jobs.last?.job
      guard page.hasMore, oldest != nil else { return }
    }
  }

  /// A page of the job's lines, or of those that failed.
  ///
  /// - Parameter start: the index of the first line.
  package func results(
    of job: JobID, from start: Int, isFailedOnly: Bool = false
  ) throws(ClientError) -> ResultsPage {
    let id = connection.newRequest()
    try connection.send(
      .results(ResultsRequest(id: id, job: job, from: start, isFailedOnly: isFailedOnly)))
    guard case .results(let page) = try connection.promptReply(to: id) else {
      throw .unexpectedReply
    }
    return page
  }

  /// Calls `body` with each of the job's lines, or each that failed, in their order.
  package func results(
    of job: JobID, isFailedOnly: Bool, _ body: (LineResult) throws -> Void
  ) throws {
    var from: Int? = 0
    while let start = from {
      let page = try results(of: job, from: start, isFailedOnly: isFailedOnly)
      try page.entries.forEach(body)
      from = page.next
    }
  }
}

/// One thumbnail at once.
extension Client {
  /// The maximum length of a viewer's name in a request.
  package static let maximumViewerByteCount = GetRequest.maximumViewerByteCount

  /// Requests a thumbnail, before all batches.
  ///
  /// - Parameters:
  ///   - viewer: see ``GetRequest/viewer``; at most ``maximumViewerByteCount`` bytes.
  ///   - bypassesStore: fetches the picture whatever the store has, and does not store it.
  ///   - onPreview: is given previews while the picture arrives, each nearer to it than the one before; `nil`
  ///     asks for none. The next one comes when it returns.
  ///   - onProgress: is told how much of the picture has arrived, whenever that has grown; `nil` asks for
  ///     nothing.
  ///   - onWait: is told what the request waits for, once that has taken a while and whenever it
  ///     changes.
  /// - Returns: when the thumbnail is in the store, comes with the answer because it is not, cannot be
  ///   made, or was superseded by a later request of the same viewer, which ends it as cancelled. The
  ///   delay in `options` and the coordinator's limits bound how long that takes.
  package func get(
    _ url: String, viewer: String? = nil, options: RequestOptions, bypassesStore: Bool = false,
    onPreview: ((PicturePreview) -> Void)? = nil, onProgress: ((BodyProgress) -> Void)? = nil,
    onWait: (Wait) -> Void = { _ in }
  ) throws(ClientError) -> GetResult {
    let id = connection.newRequest()
    try connection.send(
      .get(
        GetRequest(
          id: id, url: url, viewer: viewer, options: options, bypassesStore: bypassesStore,
          wantsPreviews: onPreview != nil, wantsProgress: onProgress != nil)))
    return try result(
      of: id, onPreview: onPreview ?? { _ in }, onProgress: onProgress ?? { _ in }, onWait: onWait)
  }

  /// Sends a picture, which is treated as if it had been fetched just now.
  ///
  /// - Parameters:
  ///   - url: see ``UploadRequest/url``.
  ///   - options: without a delay.
  /// - Returns: as ``get(_:viewer:options:bypassesStore:onWait:)`` does. Without a `url` a thumbnail
  ///   always comes with the answer.
  package func upload(
    _ picture: MemoryFile, byteCount: Int, as url: String?, options: RequestOptions
  ) throws(ClientError) -> GetResult {
    let id = connection.newRequest()
    try connection.send(
      .upload(UploadRequest(id: id, url: url, byteCount: byteCount, options: options)),
      with: picture.file)
    return try result(of: id)
  }

  private func result(
    of id: RequestID, onPreview: (PicturePreview) -> Void = { _ in },
    onProgress: (BodyProgress) -> Void = { _ in }, onWait: (Wait) -> Void = { _ in }
  ) throws(ClientError) -> GetResult {
    var delivery = try connection.delivery(to: id, until: nil)
    while true {
      switch delivery.message {
      case .waiting(let reply): onWait(reply.wait)
      case .progress(let reply): onProgress(reply.progress)
      case .preview(let reply): try take(reply, in: delivery.announcedFile, onPreview)
      case .got, .hello, .refused, .submitted, .status, .jobs, .job, .results, .forgotten,
        .detached,
        .sweeping, .stopping:
        return try result(in: delivery)
      }
      delivery = try connection.delivery(to: id, until: nil)
    }
  }

  /// Hands on a preview, and asks for the next one.
  private func take(
    _ reply: PreviewReply, in file: PassedFile, _ onPreview: (PicturePreview) -> Void
  ) throws(ClientError) {
    onPreview(
      PicturePreview(
        number: reply.number, thumbnail: reply.thumbnail,
        bytes: try contents(of: file, byteCount: reply.thumbnail.byteCount)))
    try connection.send(.nextPreview(PlainRequest(id: reply.id)))
  }

  private func contents(of file: PassedFile, byteCount: Int) throws(ClientError) -> [UInt8] {
    do throws(SystemError) {
      return try MemoryFile(file).contents(byteCount: byteCount)
    } catch {
      throw .connection(.system(error))
    }
  }

  private func result(
    in delivery: Delivery<CoordinatorReply>
  ) throws(ClientError) -> GetResult {
    guard case .got(let got) = delivery.message else { throw .unexpectedReply }
    guard let facts = got.uncached, let file = delivery.file else {
      return GetResult(outcome: got.outcome, uncached: nil, timings: got.timings)
    }
    let bytes = try contents(of: file, byteCount: facts.thumbnail.byteCount)
    return GetResult(
      outcome: got.outcome, uncached: UncachedPicture(facts: facts, bytes: bytes),
      timings: facts.timings)
  }

  /// Makes the coordinator fetch pictures again that it remembers as missing.
  ///
  /// - Parameter urls: in the spelling of ``ImageURL/text``.
  package func forgetFailures(of urls: [String]) throws(ClientError) {
    // As many as surely fit a frame, whatever their bytes are.
    let chunkCount = SubmissionLines.maximumByteCount / ImageURL.maximumByteCount
    var rest = urls[...]
    while !rest.isEmpty {
      let id = connection.newRequest()
      try connection.send(.forget(ForgetRequest(id: id, urls: Array(rest.prefix(chunkCount)))))
      guard case .forgotten = try connection.promptReply(to: id) else { throw .unexpectedReply }
      rest = rest.dropFirst(chunkCount)
    }
  }
}

/// Pictures of this machine.
extension Client {
  /// The size in bytes that a picture may have.
  package func maximumUploadByteCount() throws(ClientError) -> Int {
    Int(try status().limits.maxBodyByteCount)
  }

  /// Sends a picture, see ``upload(_:byteCount:as:options:)``.
  package func upload(
    _ picture: [UInt8], as url: String?, options: RequestOptions
  ) throws -> GetResult {
    try upload(
      MemoryFile(containing: picture), byteCount: picture.count, as: url, options: options)
  }

  /// Stores a picture as if it had been fetched from a URL just now.
  ///
  /// - Parameter store: that of the coordinator.
  /// - Returns: its thumbnail; its original if nothing else is kept.
  /// - Throws: a ``Failure`` if the picture cannot be decoded or stored.
  package func put(
    _ picture: [UInt8], as url: ImageURL, options: RequestOptions, in store: LocalStore
  ) throws -> StoredRecord {
    let asked = WallTime.now
    let result = try upload(picture, as: url.text, options: options)
    if let failure = result.uncached?.facts.failure ?? result.outcome.failure() { throw failure }
    let name = options.fetch.name(of: url)
    let reader = try store.reader()
    let stored =
      options.keep == .original
      ? try reader?.original(of: name, isLenient: options.isLenient)
      : try reader?.thumbnail(
        for: name, variant: options.variant, isLenient: options.isLenient, at: asked)
    guard let stored else { throw Failure.isGone }
    return StoredRecord(stored.facts)
  }
}

/// The end of a `get`.
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

/// What a picture looks like before all of it has arrived.
package struct PicturePreview: Sendable {
  /// Counts the previews of the request from 1.
  package let number: Int
  package let thumbnail: Thumbnail
  package let bytes: [UInt8]

  package init(number: Int, thumbnail: Thumbnail, bytes: [UInt8]) {
    self.number = number
    self.thumbnail = thumbnail
    self.bytes = bytes
  }
}
