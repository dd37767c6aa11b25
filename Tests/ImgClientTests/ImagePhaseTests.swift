import Testing

@testable import ImgClient

/// The phases of loads as users of the library see them.
@Suite(.timeLimit(.minutes(20)))
struct ImagePhaseTests {
  /// What may follow what, see ``ImagePhase``.
  private func requireOrder(_ phases: [ImagePhase]) throws {
    for (index, phase) in phases.enumerated() {
      let previous = index > 0 ? phases[index - 1] : nil
      #expect(phase.isTerminal == (index == phases.count - 1), "\(phases)")
      switch (previous, phase) {
      case (nil, .empty), (nil, .success), (nil, .failure), (.empty, _): break
      case (.loading(let earlier), .loading(let later)):
        #expect(later.receivedByteCount > earlier.receivedByteCount)
      case (.preview(let earlier), .preview(let later)): #expect(later.number > earlier.number)
      case (.loading, .success), (.loading, .failure), (.preview, .success), (.preview, .failure):
        break
      default: Issue.record("\(phases)")
      }
    }
  }

  @Test func `phases become what a program shows by map`() async {
    let cluster = InMemoryCluster()
    cluster.serve("https://example.org/a", .sample)
    let client = ImageClient(transport: cluster)
    var shown: [String] = []
    let views = client.phases(for: "https://example.org/a").map { phase in
      switch phase {
      case .empty, .loading, .preview: "placeholder"
      case .success(let image): "\(image.width) × \(image.height)"
      case .failure(let error): "\(error.code)"
      }
    }
    for await view in views { shown.append(view) }
    #expect(shown == ["placeholder", "256 × 192"])
  }

  @Test(arguments: Backend.allCases)
  func `a load is empty, then loading with bytes, then there`(backend: Backend) async throws {
    let (backend, client) = try backend.serving(inParts: "a")
    var phases: [ImagePhase] = []
    var step = 0
    for await phase in client.phases(for: backend.url("a")) {
      phases.append(phase)
      if case .loading(let progress) = phase, step < RealBackend.stepCount {
        #expect(progress.fraction.map { 0 < $0 && $0 < 1 } == true)
        backend.release("a", step: step)
        step += 1
      }
    }
    try requireOrder(phases)
    #expect(phases.first == .empty)
    #expect(phases.last?.image?.origin == .network)
    #expect(phases.count >= 2 + RealBackend.stepCount)
  }

  @Test(arguments: Backend.allCases)
  func `an incremental load has previews and no progress`(backend: Backend) async throws {
    let (backend, client) = try backend.serving(inParts: "a")
    var request = ImageRequest(url: backend.url("a"))
    request.isIncremental = true
    var phases: [ImagePhase] = []
    for await phase in client.phases(for: request) {
      phases.append(phase)
      if case .preview(let preview) = phase {
        #expect([preview.width, preview.height] == [256, 192])
        #expect(!preview.bytes.isEmpty)
        backend.release("a", step: preview.number - 1)
      }
    }
    try requireOrder(phases)
    #expect(phases.count == 2 + RealBackend.stepCount)
  }

  @Test(arguments: Backend.allCases)
  func `an image that is at hand is the only phase`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    let image = try await client.image(for: backend.url("a"), size: 256)
    for client in [client, try backend.makeClient()] {
      #expect(await client.phases(for: backend.url("a")).all.map(\.image?.bytes) == [image.bytes])
    }
  }

  @Test(arguments: Backend.allCases)
  func `a load that fails is empty, then failed`(backend: Backend) async throws {
    let (backend, client) = try backend.serving()
    let phases = await client.phases(for: backend.url("missing")).all
    #expect(phases.first == .empty)
    #expect(phases.last?.error?.code == .httpStatus)
    #expect(phases.count == 2)
    #expect(await client.phases(for: "nonsense://").all.map(\.error?.code) == [.unsupportedScheme])
  }

  @Test(arguments: Backend.allCases)
  func `its reader's cancellation ends a load with a last phase`(backend: Backend) async throws {
    let (backend, client) = try backend.serving(inParts: "a")
    let url = backend.url("a")
    let reader = Task { await client.phases(for: url).all }
    #expect(try await eventually { backend.activeFetchCount == 1 })
    reader.cancel()
    let phases = await reader.value
    try requireOrder(phases)
    #expect(phases.last?.error?.code == .cancelled)
    #expect(try await eventually { backend.activeFetchCount == 0 })
  }

  @Test(arguments: Backend.allCases)
  func `a load that nobody reads any more ends`(backend: Backend) async throws {
    let (backend, client) = try backend.serving(inParts: "a")
    for await phase in client.phases(for: backend.url("a")) where phase != .empty {
      #expect(backend.activeFetchCount == 1)
      break
    }
    #expect(try await eventually { backend.activeFetchCount == 0 })
  }
}

/// Who reads phases, and where.
@Suite(.timeLimit(.minutes(20)))
struct ImagePhaseReaderTests {
  @Test(arguments: Backend.allCases) @MainActor
  func `a reader of the main actor gets phases and images there`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    var phases: [ImagePhase] = []
    for await phase in client.phases(for: backend.url("a")) {
      MainActor.preconditionIsolated("phases arrive on the actor of their reader")
      phases.append(phase)
    }
    #expect(phases.last?.image?.width == 256)
    _ = try await client.image(for: backend.url("a"), size: 64)
    MainActor.preconditionIsolated("a load returns to the actor of its caller")
  }

  @Test(arguments: Backend.allCases)
  func `a delay holds up a hit, too`(backend: Backend) async throws {
    let (backend, client) = try backend.serving("a")
    var request = ImageRequest(url: backend.url("a"))
    _ = try await client.image(for: request)
    request.delay = .seconds(3_600)
    #expect(try backend.makeTransport().storedImage(for: request) == nil)
    let phases = client.phases(for: request)
    let reader = Task { await phases.all }
    // A load without a delay comes to its end meanwhile.
    try backend.serve("b")
    _ = try await client.image(for: backend.url("b"), size: 256)
    reader.cancel()
    #expect(await reader.value.map(\.error?.code) == [nil, .cancelled])
  }
}

struct PhaseRelayTests {
  private let relay = PhaseRelay()

  private func publish(received: Int) {
    relay.publish(.progress(ImageProgress(receivedByteCount: received, expectedByteCount: nil)))
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
      ImagePreview(number: number, bytes: [], format: .png, width: 1, height: 1)
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
