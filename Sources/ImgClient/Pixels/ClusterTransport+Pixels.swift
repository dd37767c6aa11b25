extension ClusterTransport {
  /// Has a thumbnail decoded by a sandboxed decoder of the cluster. A few at a time are decoded.
  public func pixels(
    of image: LoadedImage, frame: Int
  ) async throws(ImageError) -> ImagePixels {
    guard await decodes.enter() else { throw .cancelled(nil) }
    defer { decodes.leave() }
    let call = try PixelCall(image, frame: frame).call
    let answer: SessionReply
    do throws(SessionError) {
      answer = try await session.answer(to: call)
    } catch {
      throw ImageError(error, url: nil)
    }
    return try PixelCall.pixels(in: answer)
  }
}
