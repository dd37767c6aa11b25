import ImgClient
import Testing

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
  func `a load is empty, then loading with more and more bytes, then there`(
    backend: Backend
  ) async throws {
    let backend = try backend.make()
    try backend.serveInParts("a")
    let client = try backend.makeClient()
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
    let backend = try backend.make()
    try backend.serveInParts("a")
    let client = try backend.makeClient()
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
    let backend = try backend.make()
    try backend.serve("a")
    let client = try backend.makeClient()
    let image = try await client.image(for: backend.url("a"), size: 256)
    for client in [client, try backend.makeClient()] {
      var phases: [ImagePhase] = []
      for await phase in client.phases(for: backend.url("a")) { phases.append(phase) }
      #expect(phases.map(\.image?.bytes) == [image.bytes])
    }
  }

  @Test(arguments: Backend.allCases)
  func `a load that fails is empty, then failed`(backend: Backend) async throws {
    let backend = try backend.make()
    let client = try backend.makeClient()
    var phases: [ImagePhase] = []
    for await phase in client.phases(for: backend.url("missing")) { phases.append(phase) }
    #expect(phases.first == .empty)
    #expect(phases.last?.error?.code == .httpStatus)
    #expect(phases.count == 2)
    phases = []
    for await phase in client.phases(for: "nonsense://") { phases.append(phase) }
    #expect(phases.map(\.error?.code) == [.unsupportedScheme])
  }

  @Test(arguments: Backend.allCases)
  func `the cancellation of its reader ends a load with a last phase`(
    backend: Backend
  ) async throws {
    let backend = try backend.make()
    try backend.serveInParts("a")
    let client = try backend.makeClient()
    let url = backend.url("a")
    let reader = Task {
      var phases: [ImagePhase] = []
      for await phase in client.phases(for: url) { phases.append(phase) }
      return phases
    }
    #expect(try await eventually { backend.activeFetchCount == 1 })
    reader.cancel()
    let phases = await reader.value
    try requireOrder(phases)
    #expect(phases.last?.error?.code == .cancelled)
    #expect(try await eventually { backend.activeFetchCount == 0 })
  }

  @Test(arguments: Backend.allCases)
  func `a load that nobody reads any more ends`(backend: Backend) async throws {
    let backend = try backend.make()
    try backend.serveInParts("a")
    let client = try backend.makeClient()
    for await phase in client.phases(for: backend.url("a")) where phase != .empty {
      #expect(backend.activeFetchCount == 1)
      break
    }
    #expect(try await eventually { backend.activeFetchCount == 0 })
  }
}
