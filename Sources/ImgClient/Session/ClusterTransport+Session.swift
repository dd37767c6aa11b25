import ImgModel
import ImgTransport
import ImgWire

extension ClusterTransport {
  /// The answer to a question that the coordinator answers by itself.
  func reply(to call: SessionCall) async throws(ImageError) -> CoordinatorReply {
    do throws(SessionError) {
      return try await session.answer(to: call).message
    } catch {
      throw ImageError(error, url: nil)
    }
  }
}
