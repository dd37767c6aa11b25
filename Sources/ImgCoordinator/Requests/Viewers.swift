import ImgModel
import ImgScheduler
import ImgSystem
import ImgWire

/// The viewers: clients that wait for one thumbnail.
final class Viewers {
  private var table = RequesterTable()
  /// Those of viewers that were shown a preview.
  private var previews: [ViewerID: PreviewMailbox] = [:]
  private var offers: [ClientID: Set<ViewerID>] = [:]
  private let clients: ClientTable
  private let scheduler: SchedulerDriver
  private let files: MemoryFileTable

  /// Uploads that may wait at a time. Each keeps a descriptor and its memory, and all of them
  /// together may wait for one worker to read them.
  private static let uploadMaximum = Channel<WorkerMessage, CoordinatorMessage>
    .unsentMaximumFileCount

  /// Requests of one client that may offer to fetch at a time. Further ones are fetched by workers.
  private static let offerMaximum = 64

  /// Previews of all clients that may wait at a time. Each keeps a descriptor and its memory. Further ones
  /// are dropped.
  private static let previewMaximum = 64

  init(clients: ClientTable, scheduler: SchedulerDriver, files: MemoryFileTable) {
    self.clients = clients
    self.scheduler = scheduler
    self.files = files
  }

  // MARK: - Requests

  func get(_ request: GetRequest, _ id: RequestID, for client: ClientConnection) {
    guard (request.viewer?.utf8.count ?? 0) <= GetRequest.maximumViewerByteCount else {
      return clients.refuse(
        id, of: client, .invalidRequest,
        "a viewer's name has at most \(GetRequest.maximumViewerByteCount) bytes")
    }
    if let refusal = client.refusalToWait(id) { return clients.send(refusal, to: client) }
    let viewer = add(id, of: client)
    var request = request
    if request.offersFetch {
      request.offersFetch = offers[client.id, default: []].count < Self.offerMaximum
    }
    if request.offersFetch { offers[client.id, default: []].insert(viewer) }
    scheduler.handle(.viewerArrived(viewer, request))
  }

  func upload(
    _ request: UploadRequest, _ id: RequestID, _ file: PassedFile?, for client: ClientConnection
  ) {
    guard let file else { preconditionFailure("a channel delivers the file of an upload") }
    guard request.url == nil || !request.wantsPixels else {
      return clients.refuse(
        id, of: client, .invalidRequest,
        "pixels are not stored; upload the picture without a URL to have its pixels")
    }
    if let refusal = client.refusalToWait(id) { return clients.send(refusal, to: client) }
    // Results are released with the event that brings them: what is here was uploaded.
    guard files.count < Self.uploadMaximum else {
      return clients.refuse(
        id, of: client, .unavailable,
        "\(Self.uploadMaximum) uploads wait already; try again")
    }
    let picture = UploadedPicture(
      file: files.add(file), byteCount: request.byteCount, url: request.url,
      wantsPixels: request.wantsPixels)
    scheduler.handle(.viewerUploaded(add(id, of: client), picture, request.options))
  }

  // MARK: - Fetches by clients

  /// - Parameter file: for a reader; `nil` for a viewer.
  func askToFetch(_ viewer: ViewerID, _ file: WantedFile? = nil, within limit: Duration) {
    guard let requester = table[viewer], let client = clients[requester.client] else { return }
    clients.send(.fetch(requester.request, FetchWanted(limit: limit, file: file)), to: client)
  }

  /// The client reads files for a job.
  func readFiles(of job: JobID, _ id: RequestID, for client: ClientConnection) {
    if let refusal = client.refusalToWait(id) { return clients.send(refusal, to: client) }
    scheduler.handle(.readerArrived(add(id, of: client), for: job))
  }

  func endReading(_ reader: ViewerID) {
    guard let (client, request) = takeRequester(of: reader) else { return }
    clients.send(.filesRead(request), to: client)
  }

  /// Takes a picture that a client has fetched. Drops one that comes too late, and one that was not asked for.
  func takeFetched(
    _ picture: FetchedPicture, _ id: RequestID, _ file: PassedFile?, from client: ClientConnection
  ) {
    guard let file else { preconditionFailure("a channel delivers the file of a picture") }
    guard let viewer = client.pending.viewer(of: id) else { return }
    // Uploads leave room for what the coordinator has asked for.
    guard files.count < Self.uploadMaximum + Scheduler.fileReadLimit else {
      return takeFailedFetch(
        Failure(
          stage: .fetch, code: .unavailable,
          detail: "\(Self.uploadMaximum) uploads wait already; try again"), id, from: client)
    }
    scheduler.handle(
      .viewerFetched(viewer, FetchedBody(file: files.add(file), picture: picture)))
  }

  func takeFailedFetch(_ failure: Failure, _ id: RequestID, from client: ClientConnection) {
    guard let viewer = client.pending.viewer(of: id) else { return }
    scheduler.handle(.viewerFailedToFetch(viewer, failure))
  }

  private func add(_ request: RequestID, of client: ClientConnection) -> ViewerID {
    let viewer = table.add(Requester(client: client.id, request: request))
    client.pending.addViewer(viewer, for: request)
    return viewer
  }

  /// The client no longer waits for a request, which ends as cancelled. One that has ended stays as it is.
  func detach(_ request: RequestID, of client: ClientConnection) {
    guard let viewer = client.pending.viewer(of: request) else { return }
    scheduler.handle(.viewerLeft(viewer))
    answer(viewer, .cancelled, nil)
  }

  /// The viewers of a client that was closed leave.
  func remove(of client: ClientConnection) {
    offers[client.id] = nil
    for viewer in client.pending.viewerIDs where table.remove(viewer) != nil {
      previews[viewer] = nil
      scheduler.handle(.viewerLeft(viewer))
    }
  }

  // MARK: - Answers

  func answer(_ viewer: ViewerID, _ outcome: Outcome, _ timings: Timings?) {
    guard let (client, request) = takeRequester(of: viewer) else { return }
    clients.send(.got(request, GotReply(outcome: outcome, timings: timings)), to: client)
  }

  /// Passes a thumbnail that is not in the store on to the client, unread.
  func deliver(
    _ file: MemoryFileID, _ made: UncachedThumbnail, bytesFetched: Int, to viewer: ViewerID
  ) {
    guard let (client, request) = takeRequester(of: viewer) else { return }
    let outcome = Outcome.done(made.thumbnail, fromCache: false, bytesFetched: bytesFetched)
    clients.send(
      .got(request, GotReply(outcome: outcome, uncached: made)), with: files[file], to: client)
  }

  // MARK: - Previews

  /// Passes a preview on to the client, unread, unless the client still has to take an earlier one.
  func show(_ file: MemoryFileID, _ thumbnail: Thumbnail, to viewer: ViewerID) {
    guard let client = table[viewer].flatMap({ clients[$0.client] }), client.channel.takesFile
    else { return }
    let mailbox = previews[viewer, default: PreviewMailbox()]
    guard
      !mailbox.addsFile || previews.values.count(where: \.isAnyWaiting) < Self.previewMaximum
    else { return }
    send(previews[viewer, default: mailbox].add(thumbnail, files[file]), to: viewer)
  }

  /// The client takes the next preview of a request that may have ended.
  func sendNextPreview(of request: RequestID, to client: ClientConnection) {
    guard let viewer = client.pending.viewer(of: request) else { return }
    send(previews[viewer]?.requestNext(), to: viewer)
  }

  private func send(_ preview: PreviewMailbox.Preview?, to viewer: ViewerID) {
    guard let preview, let requester = table[viewer], let client = clients[requester.client] else {
      return
    }
    clients.send(
      .preview(requester.request, number: preview.number, preview.thumbnail), with: preview.file,
      to: client)
  }

  // MARK: - Progress

  /// Tells a client how much of its picture has arrived. A client that does not read is sent a later value.
  func report(_ progress: ImageProgress, to viewer: ViewerID) {
    guard let (client, request) = readingRequester(of: viewer) else { return }
    clients.send(.progress(request, progress), to: client)
  }

  // MARK: - Waits

  /// When ``reportWaits(at:)`` has something to do; `nil` while no viewer waits.
  var deadline: Instant? { scheduler.state.waitReportDeadline }

  /// Tells clients that have waited for a while what they wait for. A client that does not read is
  /// sent its answer alone.
  func reportWaits(at now: Instant) {
    for (viewer, wait) in scheduler.takeWaitReports(at: now) {
      guard let (client, request) = readingRequester(of: viewer) else { continue }
      clients.send(.waiting(request, wait), to: client)
    }
  }

  /// - Returns: the viewer's client and request; `nil` if the client was closed, or leaves replies unread.
  private func readingRequester(
    of viewer: ViewerID
  ) -> (client: ClientConnection, request: RequestID)? {
    guard let requester = table[viewer], let client = clients[requester.client],
      !clients.isBehind(client)
    else { return nil }
    return (client, requester.request)
  }

  /// - Returns: the viewer's client and request; `nil` when the client was closed.
  private func takeRequester(
    of viewer: ViewerID
  ) -> (client: ClientConnection, request: RequestID)? {
    previews[viewer] = nil
    guard let requester = table.remove(viewer), let client = clients[requester.client] else {
      return nil
    }
    if offers[client.id]?.remove(viewer) != nil, offers[client.id]?.isEmpty == true {
      offers[client.id] = nil
    }
    client.pending.removeViewer(for: requester.request)
    return (client, requester.request)
  }
}

/// The client and request behind each viewer of the scheduler, until the viewer is answered or leaves.
struct RequesterTable {
  private var requesters: [ViewerID: Requester] = [:]
  private var last: UInt64 = 0

  subscript(viewer: ViewerID) -> Requester? { requesters[viewer] }

  /// - Returns: an identifier that no viewer had before.
  mutating func add(_ requester: Requester) -> ViewerID {
    last += 1
    let viewer = ViewerID(rawValue: last)
    requesters[viewer] = requester
    return viewer
  }

  /// - Returns: `nil` when the viewer was removed before.
  mutating func remove(_ viewer: ViewerID) -> Requester? {
    requesters.removeValue(forKey: viewer)
  }
}

/// The previews of one viewer on their way to its client. The client takes one at a time: while it has not
/// asked for the next one, only the newest waits.
struct PreviewMailbox {
  struct Preview {
    /// Counts those that are sent from 1.
    let number: Int
    let thumbnail: Thumbnail
    let file: PassedFile
  }

  private var sentCount = 0
  private var isRequested = true
  private var newest: (thumbnail: Thumbnail, file: PassedFile)?

  /// Whether one waits until the client asks for it.
  var isAnyWaiting: Bool { newest != nil }

  /// Whether a further one would wait, and replace none.
  var addsFile: Bool { !isRequested && newest == nil }

  /// - Returns: the preview to send now; `nil` if none is due.
  mutating func add(_ thumbnail: Thumbnail, _ file: PassedFile) -> Preview? {
    newest = (thumbnail, file)
    return takeRequested()
  }

  /// The client has taken a preview, and takes the next one.
  ///
  /// - Returns: the preview to send now; `nil` if none is due.
  mutating func requestNext() -> Preview? {
    isRequested = true
    return takeRequested()
  }

  private mutating func takeRequested() -> Preview? {
    guard isRequested, let (thumbnail, file) = newest else { return nil }
    newest = nil
    isRequested = false
    sentCount += 1
    return Preview(number: sentCount, thumbnail: thumbnail, file: file)
  }
}
