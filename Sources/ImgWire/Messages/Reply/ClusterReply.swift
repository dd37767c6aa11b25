package import ImgModel

/// The state of the cluster.
package struct ClusterReply: Hashable, Sendable, Codable {
  package let id: RequestID
  package let cluster: ClusterStatus

  package init(id: RequestID, cluster: ClusterStatus) {
    self.id = id
    self.cluster = cluster
  }
}
