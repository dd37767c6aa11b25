import Testing

@testable import ImgClient

struct PhaseRelayTests {
  private let relay = PhaseRelay()

  private func publish(received: Int) {
    relay.publish(
      .progress(ImageProgress(receivedByteCount: received, expectedByteCount: nil)))
  }

  private func loading(_ received: Int) -> ImagePhase {
    .loading(ImageProgress(receivedByteCount: received, expectedByteCount: nil))
  }

  @Test func `a reader that was busy sees the newest phase`() async {
    publish(received: 1)
    publish(received: 2)
    #expect(await relay.next() == loading(2))
    publish(received: 3)
    relay.end(.success(.sample))
    #expect(await relay.next() == .success(.sample))
    #expect(await relay.next() == nil)
  }

  @Test func `progress never goes back`() async {
    publish(received: 5)
    publish(received: 4)
    publish(received: 5)
    #expect(await relay.next() == loading(5))
    publish(received: 3)
    publish(received: 6)
    #expect(await relay.next() == loading(6))
  }

  @Test func `a preview is shown once`() async {
    func preview(_ number: Int) -> ImagePreview {
      ImagePreview(number: number, bytes: [], type: .png, width: 1, height: 1)
    }
    relay.publish(.preview(preview(2)))
    #expect(await relay.next() == .preview(preview(2)))
    relay.publish(.preview(preview(1)))
    relay.publish(.preview(preview(2)))
    relay.publish(.preview(preview(3)))
    #expect(await relay.next() == .preview(preview(3)))
  }

  @Test func `nothing follows the first end`() async {
    let error = ImageError(code: .internal, message: "")
    relay.end(.failure(error))
    relay.end(.success(.sample))
    publish(received: 1)
    #expect(await relay.next() == .failure(error))
    #expect(await relay.next() == nil)
    #expect(await relay.next() == nil)
  }

  @Test func `a reader that waits gets what comes`() async {
    async let next = relay.next()
    await Task.yield()
    publish(received: 1)
    #expect(await next == loading(1))
  }
}
