package import ImgModel
package import ImgSystem
import ImgTransport
import ImgWire

/// One thumbnail at once.
extension Client {
  /// Requests a thumbnail, before all batches.
  ///
  /// - Parameters:
  ///   - viewer: see ``GetRequest/viewer``; at most ``GetRequest/maximumViewerByteCount`` bytes.
  ///   - bypassesStore: fetches the picture whatever the store has, and does not store it.
  ///   - onWait: is told what the request waits for, once that has taken a while and whenever it
  ///     changes.
  /// - Returns: when the thumbnail is in the store, comes with the answer because it is not, cannot be
  ///   made, or was superseded by a later request of the same viewer, which ends it as cancelled. The
  ///   delay in `options` and the coordinator's limits bound how long that takes.
  package func get(
    _ url: String, viewer: String? = nil, options: RequestOptions, bypassesStore: Bool = false,
    onWait: (Wait) -> Void = { _ in }
  ) throws(ClientError) -> GetResult {
    let id = connection.newRequest()
    try connection.send(
      .get(
        GetRequest(
          id: id, url: url, viewer: viewer, options: options, bypassesStore: bypassesStore)))
    return try result(of: id, onWait: onWait)
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
    of id: RequestID, onWait: (Wait) -> Void = { _ in }
  ) throws(ClientError) -> GetResult {
    var delivery = try connection.delivery(to: id, until: nil)
    while case .waiting(let reply) = delivery.message {
      onWait(reply.wait)
      delivery = try connection.delivery(to: id, until: nil)
    }
    guard case .got(let got) = delivery.message else { throw .unexpectedReply }
    guard let facts = got.uncached, let file = delivery.file else {
      return GetResult(outcome: got.outcome, uncached: nil, timings: got.timings)
    }
    do throws(SystemError) {
      let bytes = try MemoryFile(file).contents(byteCount: facts.thumbnail.byteCount)
      return GetResult(
        outcome: got.outcome, uncached: UncachedPicture(facts: facts, bytes: bytes),
        timings: facts.timings)
    } catch {
      throw .connection(.system(error))
    }
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
