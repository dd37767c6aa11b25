import ImgClient
import Testing

/// Who reads phases, and where.
@Suite(.timeLimit(.minutes(20)))
struct ImagePhaseReaderTests {
  /// What a program shows of a load, kept by an actor.
  private actor Screen {
    private(set) var image: LoadedImage?
    private(set) var error: ImageError?
    private(set) var isLoading = false

    func show(_ phases: ImagePhases) async {
      for await phase in phases {
        preconditionIsolated("phases arrive on the actor of their reader")
        (image, error, isLoading) = (phase.image, phase.error, !phase.isTerminal)
      }
    }
  }

  @Test(arguments: Backend.allCases)
  func `an actor sees a load begin, and end with an image or an error`(
    backend: Backend
  ) async throws {
    let backend = try backend.make()
    try backend.serveInParts("a")
    let client = try backend.makeClient()
    let screen = Screen()
    let url = backend.url("a")
    let reader = Task { await screen.show(client.phases(for: url)) }
    #expect(try await eventually { backend.activeFetchCount == 1 })
    let (image, error) = (await screen.image, await screen.error)
    #expect(image == nil)
    #expect(error == nil)
    #expect(await screen.isLoading)
    for step in 0..<RealBackend.stepCount { backend.release("a", step: step) }
    await reader.value
    #expect(await screen.image?.width == 256)
    #expect(await screen.error == nil)
    #expect(await !screen.isLoading)
    await screen.show(client.phases(for: backend.url("missing")))
    #expect(await screen.image == nil)
    #expect(await screen.error?.code == .httpStatus)
    #expect(await !screen.isLoading)
  }

  @Test(arguments: Backend.allCases) @MainActor
  func `a reader of the main actor gets phases and images there`(backend: Backend) async throws {
    let backend = try backend.make()
    try backend.serve("a")
    let client = try backend.makeClient()
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
  func `each of hundreds of loads has one last phase`(backend: Backend) async throws {
    let backend = try backend.make()
    for number in 0..<10 { try backend.serve("\(number)") }
    let client = try backend.makeClient()
    let ends = await withTaskGroup(of: [ImagePhase].self) { group in
      for number in 0..<200 {
        // Every eleventh URL has no picture.
        let phases = client.phases(for: backend.url("\(number % 11)"))
        group.addTask { await phases.all.filter(\.isTerminal) }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(ends.map(\.count) == Array(repeating: 1, count: 200))
    let failures = ends.compactMap { $0.first?.error }
    #expect(failures.map(\.httpStatus) == Array(repeating: 404, count: 18))
    for number in 0..<10 { #expect(backend.fetchCount(of: "\(number)") == 1) }
  }

  @Test(arguments: Backend.allCases)
  func `a delay holds up a hit, too`(backend: Backend) async throws {
    let backend = try backend.make()
    try backend.serve("a")
    let client = try backend.makeClient()
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
