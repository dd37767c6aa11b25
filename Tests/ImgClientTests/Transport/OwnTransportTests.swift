import FoundationEssentials
import ImgClient
import Synchronization
import Testing

/// Programs that bring a transport of their own.
@Suite(.timeLimit(.minutes(20)))
struct OwnTransportTests {
  /// Notes what it is asked, and answers one URL.
  private final class NotingTransport: ImageTransport {
    let requests = Mutex<[ImageRequest]>([])
    let cancelledCount = Atomic(0)
    let listenedCount = Atomic(0)

    func storedImage(for request: ImageRequest) -> LoadedImage? { nil }

    func loadImage(
      for request: ImageRequest, onUpdate: (@Sendable (ImageUpdate) -> Void)?
    ) async throws(ImageError) -> LoadedImage {
      requests.withLock { $0.append(request) }
      if onUpdate != nil { listenedCount.add(1, ordering: .relaxed) }
      onUpdate?(.progress(ImageProgress(receivedByteCount: 3, expectedByteCount: 3)))
      switch request.url {
      case "own:picture": return .sample
      case "own:endless":
        // Until the cancellation.
        try? await Task.sleep(for: .seconds(3_600))
        cancelledCount.add(1, ordering: .relaxed)
        throw ImageError(code: .cancelled, message: "its task was cancelled")
      default: throw ImageError(code: .dnsFailure, url: request.url, message: "no such picture")
      }
    }
  }

  private let transport = NotingTransport()

  private var client: ImageClient { ImageClient(transport: transport, memoryCache: nil) }

  @Test func `it gets the whole request, and its image is the client's`() async throws {
    var request: ImageRequest = "own:picture"
    request.cachePolicy = .reload
    request.timeout = .seconds(1)
    request.headers = [.init("Accept", "image/*")]
    #expect(try await client.image(for: request) == .sample)
    #expect(transport.requests.withLock { $0 } == [request])
  }

  @Test func `it gets a closure for updates only if they are read`() async throws {
    _ = try await client.image(for: "own:picture")
    #expect(transport.listenedCount.load(ordering: .relaxed) == 0)
    for await _ in client.phases(for: "own:picture") {}
    #expect(transport.listenedCount.load(ordering: .relaxed) == 1)
  }

  @Test func `its failure is the client's`() async throws {
    let error = await #expect(throws: ImageError.self) {
      try await client.image(for: "own:missing", size: 64)
    }
    #expect(error?.code == .dnsFailure)
    #expect(error?.url == "own:missing")
  }

  @Test func `it is told when its load is cancelled`() async throws {
    let client = client
    let load = Task { try await client.image(for: "own:endless", size: 64) }
    #expect(try await eventually { transport.requests.withLock { $0.count } == 1 })
    load.cancel()
    await #expect(throws: ImageError.self) { try await load.value }
    #expect(transport.cancelledCount.load(ordering: .relaxed) == 1)
  }

  @Test func `its updates become phases`() async throws {
    var phases: [ImagePhase] = []
    for await phase in client.phases(for: "own:endless") {
      phases.append(phase)
      if case .loading = phase { break }
    }
    #expect(phases.first == .empty)
    #expect(phases.count == 2)
    #expect(
      try await eventually { transport.cancelledCount.load(ordering: .relaxed) == 1 },
      "a load that nobody reads any more ends")
  }
}
