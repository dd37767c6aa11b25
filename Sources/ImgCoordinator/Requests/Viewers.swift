import ImgModel
import ImgScheduler
import ImgSystem
import ImgTransport
import ImgWire

/// The viewers: clients that wait for one thumbnail.
final class Viewers {
  private var table = RequesterTable()
  private let clients: ClientTable
  private let scheduler: SchedulerDriver
  private let files: MemoryFileTable

  /// Uploads that may wait at a time. Each keeps a descriptor and its memory, and all of them
  /// together may wait for one worker to read them.
  private static let uploadMaximum = Channel<WorkerMessage, CoordinatorMessage>
    .unsentMaximumFileCount

  init(clients: ClientTable, scheduler: SchedulerDriver, files: MemoryFileTable) {
    self.clients = clients
    self.scheduler = scheduler
    self.files = files
  }

  // MARK: - Requests

  func get(_ request: GetRequest, for client: ClientConnection) {
    guard (request.viewer?.utf8.count ?? 0) <= GetRequest.maximumViewerByteCount else {
      return clients.refuse(
        request.id, of: client, .invalidRequest,
        "a viewer's name has at most \(GetRequest.maximumViewerByteCount) bytes")
    }
    if let refusal = client.refusalToWait(request.id) {
      return clients.send(refusal, to: client)
    }
    let viewer = add(request.id, of: client)
    scheduler.handle(
      .viewerArrived(
        viewer, name: request.viewer, url: request.url, request.options,
        bypassesStore: request.bypassesStore))
  }

  func upload(_ request: UploadRequest, _ file: PassedFile?, for client: ClientConnection) {
    guard let file else { preconditionFailure("a channel delivers the file of an upload") }
    if let refusal = client.refusalToWait(request.id) {
      return clients.send(refusal, to: client)
    }
    // Results are released with the event that brings them: what is here was uploaded.
    guard files.count < Self.uploadMaximum else {
      return clients.refuse(
        request.id, of: client, .unavailable,
        "\(Self.uploadMaximum) uploads wait already; try again")
    }
    let picture = UploadedPicture(
      file: files.add(file), byteCount: request.byteCount, url: request.url)
    scheduler.handle(.viewerUploaded(add(request.id, of: client), picture, request.options))
  }

  private func add(_ request: RequestID, of client: ClientConnection) -> ViewerID {
    let viewer = table.add(Requester(client: client.id, request: request))
    client.pending.addViewer(viewer, for: request)
    return viewer
  }

  /// The viewers of a client that was closed leave.
  func remove(of client: ClientConnection) {
    for viewer in client.pending.viewerIDs where table.remove(viewer) != nil {
      scheduler.handle(.viewerLeft(viewer))
    }
  }

  // MARK: - Answers

  func answer(_ viewer: ViewerID, _ outcome: Outcome, _ timings: Timings?) {
    guard let (client, request) = takeRequester(of: viewer) else { return }
    clients.send(.got(GotReply(id: request, outcome: outcome, timings: timings)), to: client)
  }

  /// Passes a thumbnail that is not in the store on to the client, unread.
  func deliver(
    _ file: MemoryFileID, _ made: UncachedThumbnail, bytesFetched: Int, to viewer: ViewerID
  ) {
    guard let (client, request) = takeRequester(of: viewer) else { return }
    let outcome = Outcome.done(made.thumbnail, fromCache: false, bytesFetched: bytesFetched)
    clients.send(
      .got(GotReply(id: request, outcome: outcome, uncached: made)),
      with: files[file], to: client)
  }

  /// When ``reportWaits(at:)`` has something to do; `nil` while no viewer waits.
  var deadline: ContinuousClock.Instant? { scheduler.state.waitReportDeadline }

  /// Tells clients that have waited for a while what they wait for. A client that does not read is
  /// sent its answer alone.
  func reportWaits(at now: ContinuousClock.Instant) {
    for (viewer, wait) in scheduler.takeWaitReports(at: now) {
      guard let requester = table[viewer], let client = clients[requester.client],
        !clients.isBehind(client)
      else { continue }
      clients.send(.waiting(WaitReply(id: requester.request, wait: wait)), to: client)
    }
  }

  /// - Returns: the viewer's client and request; `nil` when the client was closed.
  private func takeRequester(
    of viewer: ViewerID
  ) -> (client: ClientConnection, request: RequestID)? {
    guard let requester = table.remove(viewer), let client = clients[requester.client] else {
      return nil
    }
    client.pending.removeViewer(for: requester.request)
    return (client, requester.request)
  }
}
