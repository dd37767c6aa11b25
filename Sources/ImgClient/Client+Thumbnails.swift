package import ImgModel
package import ImgSystem
import ImgTransport
import ImgWire

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
