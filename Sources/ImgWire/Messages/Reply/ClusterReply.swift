package import ImgModel

/// The cluster's state.
package struct ClusterReply: Hashable, Sendable, Codable {
  package let id: RequestID
  package let cluster: ClusterStatus

  package init(id: RequestID, cluster: ClusterStatus) {
    self.id = id
    self.cluster = cluster
  }
}
