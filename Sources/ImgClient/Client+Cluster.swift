package import ImgModel
package import ImgSystem
import ImgTransport
import ImgWire

extension Client {
  /// Has a thumbnail made, before all batches.
  ///
  /// - Parameters:
  ///   - viewer: see ``GetRequest/viewer``; at most ``GetRequest/maximumViewerByteCount`` bytes.
  ///   - bypassesStore: whether it is fetched whatever the store has, and not stored.
  ///   - onWait: hears what is waited for, once that has taken a while and whenever it changes.
  /// - Returns: when it is in the store, comes with the answer because it is not, cannot be made, or
  ///   was superseded by a later request of the same viewer, which ends it as cancelled. How long
  ///   that may take is the matter of the delay in `options` and of the coordinator's limits.
  package func get(
    _ url: String, viewer: String? = nil, options: RequestOptions, bypassesStore: Bool = false,
    onWait: (Wait) -> Void = { _ in }
  ) throws(ClientError) -> GetResult {
    let id = newRequest()
    try send(
      .get(
        GetRequest(
          id: id, url: url, viewer: viewer, options: options, bypassesStore: bypassesStore)))
    return try result(of: id, onWait: onWait)
  }

  /// Has a picture treated as if it had been fetched just now.
  ///
  /// - Parameters:
  ///   - url: see ``UploadRequest/url``.
  ///   - options: without a delay.
  /// - Returns: as ``get(_:viewer:options:bypassesStore:)`` does; without a `url`, a thumbnail
  ///   always comes with the answer.
  package func upload(
    _ picture: MemoryFile, byteCount: Int, as url: String?, options: RequestOptions
  ) throws(ClientError) -> GetResult {
    let id = newRequest()
    try send(
      .upload(UploadRequest(id: id, url: url, byteCount: byteCount, options: options)),
      with: picture)
    return try result(of: id)
  }

  private func result(
    of id: RequestID, onWait: (Wait) -> Void = { _ in }
  ) throws(ClientError) -> GetResult {
    var delivery = try delivery(to: id, until: nil)
    while case .waiting(let reply) = delivery.message {
      onWait(reply.wait)
      delivery = try self.delivery(to: id, until: nil)
    }
    guard case .got(let got) = delivery.message else { throw Self.unexpected }
    guard let facts = got.uncached, let file = delivery.file else {
      return GetResult(outcome: got.outcome, uncached: nil, timings: got.timings)
    }
    do throws(SystemError) {
      let bytes = try file.contents(byteCount: facts.thumbnail.byteCount)
      return GetResult(
        outcome: got.outcome, uncached: UncachedPicture(facts: facts, bytes: bytes),
        timings: facts.timings)
    } catch {
      throw .connection(.system(error))
    }
  }

  package func status() throws(ClientError) -> ClusterStatus {
    let id = newRequest()
    try send(.status(PlainRequest(id: id)))
    return try clusterReply(to: id)
  }

  /// Changes limits of the coordinator until it ends.
  ///
  /// - Returns: the cluster with the limits that hold from now on.
  package func limit(_ limits: LimitChange) throws(ClientError) -> ClusterStatus {
    let id = newRequest()
    try send(.limit(LimitRequest(id: id, limits: limits)))
    return try clusterReply(to: id)
  }

  /// Has the coordinator ask again for pictures of which it remembers that they were missing.
  ///
  /// - Parameter urls: in the spelling of ``ImageURL/text``.
  package func forgetFailures(of urls: [String]) throws(ClientError) {
    // As many as surely fit a frame, whatever their bytes are.
    let chunkCount = SubmissionLines.maximumByteCount / ImageURL.maximumByteCount
    var rest = urls[...]
    while !rest.isEmpty {
      let id = newRequest()
      try send(.forget(ForgetRequest(id: id, urls: Array(rest.prefix(chunkCount)))))
      guard case .forgotten = try reply(to: id) else { throw Self.unexpected }
      rest = rest.dropFirst(chunkCount)
    }
  }

  /// Has what has expired removed from the store.
  ///
  /// - Returns: at once; the removal takes its time.
  package func sweep() throws(ClientError) {
    let id = newRequest()
    try send(.sweep(PlainRequest(id: id)))
    guard case .sweeping = try reply(to: id) else { throw Self.unexpected }
  }

  /// Asks the coordinator to finish what runs and to leave.
  ///
  /// - Returns: when it has left.
  package func stop() throws(ClientError) {
    let id = newRequest()
    try send(.stop(PlainRequest(id: id)))
    guard case .stopping = try reply(to: id) else { throw Self.unexpected }
    do throws(ClientError) {
      while true { _ = try nextDelivery(until: nil) }
    } catch .connection(.closed) {
      return
    }
  }

  private func clusterReply(to id: RequestID) throws(ClientError) -> ClusterStatus {
    guard case .status(let reply) = try reply(to: id) else { throw Self.unexpected }
    return reply.cluster
  }
}
