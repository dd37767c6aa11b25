import ImgCore
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// Clients that wait for one picture, and the files that pass through.
extension Coordinator {
  func get(_ request: GetRequest, for client: ClientConnection) {
    guard (request.viewer?.utf8.count ?? 0) <= GetRequest.maximumViewerByteCount else {
      return refuse(
        request.id, of: client, .invalidRequest,
        "a viewer's name has at most \(GetRequest.maximumViewerByteCount) bytes")
    }
    if let refusal = refusalToWait(request.id, of: client) { return send(refusal, to: client) }
    let viewer = addViewer(request.id, of: client)
    feed(
      .viewerArrived(
        viewer, name: request.viewer, url: request.url, request.options,
        bypassesStore: request.bypassesStore))
  }

  /// Pictures uploaded that may be here at a time. Each keeps a descriptor and its memory, and all
  /// of them together may wait for one worker to read them.
  private static let uploadMaximum = Channel<WorkerMessage, CoordinatorMessage>
    .unsentMaximumFileCount

  func upload(_ request: UploadRequest, _ file: MemoryFile?, for client: ClientConnection) {
    if let refusal = refusalToWait(request.id, of: client) { return send(refusal, to: client) }
    // Results are released with the event that brings them: what is here was uploaded.
    guard attachments.count < Self.uploadMaximum else {
      return refuse(
        request.id, of: client, .unavailable,
        "\(Self.uploadMaximum) pictures that were uploaded wait already; try again")
    }
    let picture = UploadedPicture(
      attachment: attach(file), byteCount: request.byteCount, url: request.url)
    feed(.viewerUploaded(addViewer(request.id, of: client), picture, request.options))
  }

  private func addViewer(_ request: RequestID, of client: ClientConnection) -> ViewerID {
    lastViewer += 1
    let viewer = ViewerID(rawValue: lastViewer)
    client.viewers[request] = viewer
    waitingViewers[viewer] = (client.number, request)
    return viewer
  }

  // MARK: - Files

  /// Holds a file until the scheduler releases it.
  func attach(_ file: MemoryFile?) -> AttachmentID {
    lastAttachment += 1
    let attachment = AttachmentID(rawValue: lastAttachment)
    attachments[attachment] = file
    return attachment
  }

  func file(_ attachment: AttachmentID) -> MemoryFile {
    guard let file = attachments[attachment] else {
      preconditionFailure("an attachment is there until it is released")
    }
    return file
  }

  // MARK: - Answers

  func answer(_ viewer: ViewerID, _ outcome: Outcome, _ timings: Timings?) {
    guard let (client, request) = takeWaiting(viewer) else { return }
    send(.got(GotReply(id: request, outcome: outcome, timings: timings)), to: client)
  }

  /// Says what the viewer waits for. One that does not read hears its answer alone.
  func tell(_ viewer: ViewerID, _ wait: Wait) {
    guard let (client, request) = waitingViewers[viewer], let client = clients[client],
      !client.channel.hasUnsent
    else { return }
    send(.waiting(WaitReply(id: request, wait: wait)), to: client)
  }

  /// Passes a picture on without a look at it.
  func deliver(
    _ attachment: AttachmentID, _ made: UncachedThumbnail, bytesFetched: Int, to viewer: ViewerID
  ) {
    guard let (client, request) = takeWaiting(viewer) else { return }
    let outcome = Outcome.done(made.thumbnail, fromCache: false, bytesFetched: bytesFetched)
    send(
      .got(GotReply(id: request, outcome: outcome, uncached: made)), with: file(attachment),
      to: client)
  }

  /// - Returns: the viewer's client and request; `nil` when the client is gone.
  private func takeWaiting(
    _ viewer: ViewerID
  ) -> (client: ClientConnection, request: RequestID)? {
    guard let waiting = waitingViewers.removeValue(forKey: viewer),
      let client = clients[waiting.client]
    else { return nil }
    client.viewers[waiting.request] = nil
    return (client, waiting.request)
  }
}
