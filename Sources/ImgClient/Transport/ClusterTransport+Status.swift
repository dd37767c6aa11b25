package import ImgModel
import ImgWire

extension ClusterTransport {
  /// What the coordinator tells of itself and its workers. One is started if none answers and that is
  /// permitted.
  package func clusterStatus() async throws(ImageError) -> ClusterStatus {
    let call = SessionCall(request: { .status(PlainRequest(id: $0)) })
    guard case .status(let reply) = try await reply(to: call) else {
      throw ImageError(ClientError.unexpectedReply, url: nil)
    }
    return reply.cluster
  }

  /// The size of the store; `nil` without one. Reads a few pages of its file.
  package func storeSize() async throws(ImageError) -> CacheSize? {
    let store = places.store
    let view = try await BlockingCall.run { try store.view() }
    switch view {
    case .size(let size): return size
    case .empty: return nil
    case .notPermitted(let reason):
      throw ImageError(code: .storeFailure, message: reason)
    }
  }
}
