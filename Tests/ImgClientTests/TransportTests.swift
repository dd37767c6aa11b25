import FoundationEssentials
import ImgModel
import ImgWire
import Synchronization
import Testing

@testable import ImgClient

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

/// What a load asks the coordinator for.
struct LoadRequestTests {
  private func request(
    isIncremental: Bool, previewsRows: Bool = false, isObserved: Bool
  ) throws -> GetRequest? {
    var request: ImageRequest = "https://example.org/a.jpg"
    request.isIncremental = isIncremental
    request.previewsRows = previewsRows
    let load = CoordinatorRequest.load(
      try ClusterRequest(request), maximumRetryAfter: nil, isObserved: isObserved)
    guard case .get(_, let get) = load.exchange.message(RequestID(rawValue: 1)) else { return nil }
    return get
  }

  @Test func `a load whose caller listens has progress, or previews if it is incremental`() throws {
    let plain = try #require(try request(isIncremental: false, isObserved: true))
    #expect(plain.updates == .progress)
    let incremental = try #require(try request(isIncremental: true, isObserved: true))
    #expect(incremental.updates == .previews)
    let rows = try #require(try request(isIncremental: true, previewsRows: true, isObserved: true))
    #expect(rows.updates == [.previews, .rows])
  }

  @Test(arguments: [false, true])
  func `a load whose caller does not listen asks for no updates`(isIncremental: Bool) throws {
    let get = try #require(try request(isIncremental: isIncremental, isObserved: false))
    #expect(get.updates.isEmpty)
  }
}

@Suite(.timeLimit(.minutes(20)))
struct TimeoutsTests {
  /// Counts the runs of an action.
  private final class Runs: Sendable {
    private let atomic = Atomic(0)

    var count: Int { atomic.load(ordering: .relaxed) }

    func add() { atomic.add(1, ordering: .relaxed) }
  }

  private let timeouts = Timeouts()

  @Test func `an action runs after its moment, and once`() async throws {
    let runs = Runs()
    let moment = ContinuousClock.now + .milliseconds(20)
    let timeout = timeouts.add(at: moment) {
      #expect(ContinuousClock.now >= moment)
      runs.add()
    }
    #expect(try await eventually { runs.count > 0 })
    #expect(timeout.end(), "the time was over before")
    // It is looked at no more when a later one has run.
    try await waitForAnother()
    #expect(runs.count == 1)
  }

  @Test func `an action does not run if what it ends has ended`() async throws {
    let runs = Runs()
    let timeout = timeouts.add(at: .now) { runs.add() }
    #expect(!timeout.end())
    try await waitForAnother()
    #expect(runs.count == 0)
  }

  @Test func `what has ended is let go long before its moment`() async throws {
    weak var timeout: Timeouts.Timeout?
    do {
      let added = timeouts.add(at: .now + .seconds(3_600)) {}
      timeout = added
      #expect(!added.end())
    }
    #expect(try await eventually { timeout == nil })
  }

  @Test func `a timeout that comes when all others have ended runs, too`() async throws {
    try await waitForAnother()
    try await waitForAnother()
  }

  private func waitForAnother() async throws {
    let runs = Runs()
    let timeout = timeouts.add(at: .now) { runs.add() }
    #expect(try await eventually { runs.count == 1 })
    #expect(timeout.end())
  }
}

struct ImageErrorTests {
  @Test func `a failure of a picture keeps its code, its status and its reason`() {
    let failure = Failure(stage: .fetch, code: .httpStatus, httpStatus: 503, detail: "busy")
    let error = ImageError(failure, url: "https://example.org/a")
    #expect(error.code == .httpStatus)
    #expect(error.httpStatus == 503)
    #expect(error.isRetryable)
    #expect(error.message == "busy")
    #expect(error.url == "https://example.org/a")
  }

  @Test func `a coordinator that stops cancels no task`() {
    let stopping = Failure(
      stage: .queue, code: .cancelled, isRetryable: true, detail: "the coordinator is stopping")
    #expect(ImageError(stopping, url: nil).code == .disconnected)
    #expect(ImageError(stopping, url: nil).isRetryable)
    let cancelled = Failure(stage: .queue, code: .cancelled, detail: "")
    #expect(ImageError(cancelled, url: nil).code == .cancelled)
  }
}
