package import ImgModel
import ImgWire

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
