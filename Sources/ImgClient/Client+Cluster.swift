import ImgTransport
package import ImgWire

extension Client {
  /// Has a thumbnail made, before all batches.
  ///
  /// - Parameter viewer: see ``GetRequest/viewer``; at most
  ///   ``GetRequest/maximumViewerByteCount`` bytes.
  /// - Returns: when it is in the store, cannot be made, or was superseded by a later request of the
  ///   same viewer, which ends it as cancelled. How long that may take is the matter of the delay in
  ///   `options` and of the coordinator's limits.
  package func get(
    _ url: String, viewer: String? = nil, options: RequestOptions
  ) throws(ClientError) -> Outcome {
    let id = newRequest()
    try send(.get(GetRequest(id: id, url: url, viewer: viewer, options: options)))
    guard case .got(let got) = try reply(to: id, until: nil) else { throw Self.unexpected }
    return got.outcome
  }

  package func status() throws(ClientError) -> ClusterStatus {
    let id = newRequest()
    try send(.status(PlainRequest(id: id)))
    return try clusterReply(to: id)
  }

  /// Changes limits of the coordinator until it ends.
  ///
  /// - Returns: the cluster with the limits that hold from now on.
  package func limit(_ limits: TransferLimits) throws(ClientError) -> ClusterStatus {
    let id = newRequest()
    try send(.limit(LimitRequest(id: id, limits: limits)))
    return try clusterReply(to: id)
  }

  /// Asks the coordinator to finish what runs and to leave.
  ///
  /// - Returns: when it has left.
  package func stop() throws(ClientError) {
    let id = newRequest()
    try send(.stop(PlainRequest(id: id)))
    guard case .stopping = try reply(to: id) else { throw Self.unexpected }
    do throws(ClientError) {
      while true { _ = try nextReply(until: nil) }
    } catch .connection(.closed) {
      return
    }
  }

  private func clusterReply(to id: RequestID) throws(ClientError) -> ClusterStatus {
    guard case .status(let reply) = try reply(to: id) else { throw Self.unexpected }
    return reply.cluster
  }
}
