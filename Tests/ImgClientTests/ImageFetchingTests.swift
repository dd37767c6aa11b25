import ImgClient
import Synchronization
import TestCluster
import TestOrigin
import TestPictures
import Testing

/// Apps that fetch pictures by their own network layers.
@Suite(.timeLimit(.minutes(20)))
struct ImageFetchingTests {
  /// A network layer that a test controls.
  private final class ControlledNetwork: ImageFetching {
    struct State {
      var requests: [ImageFetch] = []
      var waiting: [CheckedContinuation<FetchedImage, any Error>] = []
      var cancelledCount = 0
    }

    let state = Mutex(State())

    func fetch(_ request: ImageFetch) async throws -> FetchedImage {
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          state.withLock { state in
            state.requests.append(request)
            state.waiting.append(continuation)
          }
        }
      } onCancel: {
        let waiting = state.withLock { state in
          state.cancelledCount += 1
          defer { state.waiting = [] }
          return state.waiting
        }
        for continuation in waiting { continuation.resume(throwing: CancellationError()) }
      }
    }

    var requests: [ImageFetch] { state.withLock { $0.requests } }
    var cancelledCount: Int { state.withLock { $0.cancelledCount } }

    func end(_ result: Result<FetchedImage, any Error>) {
      let waiting = state.withLock { state in
        defer { state.waiting = [] }
        return state.waiting
      }
      for continuation in waiting { continuation.resume(with: result) }
    }
  }

  private let backend: RealBackend
  private let picture: [UInt8]

  init() throws {
    backend = try RealBackend()
    picture = try PictureMaker.start().card(index: 1)
  }

  private func client(by network: any ImageFetching) throws -> ImageClient {
    ImageClient(
      transport: try ClusterTransport(
        unsafe backend.cluster.configuration, fetching: network),
      memoryCache: nil)
  }

  /// A load that is under way: its network layer was asked.
  private func load(
    _ url: String, size: Int = 256, by client: ImageClient, askingFor network: ControlledNetwork
  ) async throws -> Task<LoadedImage, any Error> {
    let load = Task { try await client.image(for: url, size: size) }
    #expect(try await eventually { network.requests.count == 1 })
    return load
  }

  @Test func `one app fetches for all that wait, in all sizes, and the cluster stores it`()
    async throws
  {
    let url = backend.url("a")
    let networks = [ControlledNetwork(), ControlledNetwork()]
    let clients = try networks.map { try client(by: $0) }
    let first = try await load(url, by: clients[0], askingFor: networks[0])
    let others = [
      Task { try await clients[1].image(for: url, size: 256) },
      Task { try await clients[1].image(for: url, size: 64) },
      Task { [plain = try backend.makeClient()] in try await plain.image(for: url, size: 256) },
    ]
    #expect(try await eventually { try viewerCount == 4 })
    networks[0].end(.success(FetchedImage(bytes: picture)))
    #expect(try await first.value.width == 256)
    #expect(try await others[1].value.width == 64)
    for other in others { _ = try await other.value }
    #expect(networks[1].requests.isEmpty)
    #expect(backend.fetchCount(of: "a") == 0)
    #expect(try backend.makeClient().cachedImage(for: ImageRequest(url: url, size: 256)) != nil)
  }

  /// A load whose app was asked for a picture of the origin, and one of a client without a network layer, which
  /// waits for it.
  private func loads(
    by network: ControlledNetwork
  ) async throws -> (ofApp: Task<LoadedImage, any Error>, plain: Task<LoadedImage, any Error>) {
    try backend.serve("a")
    let load = try await load(backend.url("a"), by: client(by: network), askingFor: network)
    let plain = Task { [plain = try backend.makeClient(), url = backend.url("a")] in
      try await plain.image(for: url, size: 256)
    }
    #expect(try await eventually { try viewerCount == 2 })
    return (load, plain)
  }

  private var viewerCount: Int {
    get throws { unsafe try backend.cluster.client().answer(.status).viewers }
  }

  @Test func `an app that fails has its error, and the cluster fetches for the others`()
    async throws
  {
    let network = ControlledNetwork()
    let (load, plain) = try await loads(by: network)
    network.end(
      .failure(ImageError(code: .httpStatus, httpStatus: 451, message: "not for this app")))
    let error = await #expect(throws: ImageError.self) { try await load.value }
    #expect(error?.code == .httpStatus && error?.httpStatus == 451)
    #expect(error?.message == "not for this app")
    #expect(try await plain.value.width == 256)
    #expect(backend.fetchCount(of: "a") == 1)
  }

  @Test func `a load that is cancelled cancels its app's fetch, and others go on`() async throws {
    let network = ControlledNetwork()
    let (load, plain) = try await loads(by: network)
    load.cancel()
    #expect(try await eventually { network.cancelledCount == 1 })
    #expect(try await plain.value.width == 256)
    #expect(backend.fetchCount(of: "a") == 1)
  }

  @Test func `an app is told what the load wants, and asked for nothing that is stored`()
    async throws
  {
    let network = ControlledNetwork()
    let client = try client(by: network)
    var request = ImageRequest(url: "\(backend.origin.baseURL)/b c", size: 256)
    request.headers = [.init("X-App", "1")]
    request.timeout = .seconds(50)
    request.cachePolicy = .reload
    let load = Task { [request] in try await client.image(for: request) }
    #expect(try await eventually { network.requests.count == 1 })
    let asked = try #require(network.requests.first)
    #expect(asked.url == backend.url("b%20c"))
    #expect(asked.cachePolicy == .reload && asked.headers == request.headers)
    #expect(asked.timeout == .seconds(50))
    network.end(.success(FetchedImage(bytes: picture)))
    _ = try await load.value
    request.cachePolicy = .cacheElseLoad
    #expect(try await client.image(for: request).origin == .store)
    request.cachePolicy = .cacheOnly
    request.variant.width = 99
    #expect(await client.failure(of: request)?.code == .notCached)
    #expect(network.requests.count == 1)
  }

  @Test func `what an app fetches is fresh for as long as its origin says`() async throws {
    let network = ControlledNetwork()
    let client = try client(by: network)
    var request = ImageRequest(url: backend.url("a"), size: 256)
    request.cachePolicy = .byProtocol
    let load = Task { [request] in try await client.image(for: request) }
    #expect(try await eventually { network.requests.count == 1 })
    let freshness = ImageRequest.HeaderField("Cache-Control", "max-age=600")
    network.end(.success(FetchedImage(bytes: picture, headers: [freshness])))
    _ = try await load.value
    #expect(try await client.image(for: request).origin == .store)
    #expect(network.requests.count == 1)
  }

  @Test func `what is no picture fails as that`() async throws {
    let network = ControlledNetwork()
    let client = try client(by: network)
    let load = try await load(backend.url("a"), by: client, askingFor: network)
    network.end(.success(FetchedImage(bytes: Array("<html>".utf8))))
    let error = await #expect(throws: ImageError.self) { try await load.value }
    #expect(error?.code == .notAnImage)
  }

  @Test func `libcurl is a network layer`() async throws {
    let client = try client(by: CurlFetching(userAgent: "app/1"))
    backend.origin.serve("/a", .redirect(to: backend.url("b"), status: 302))
    try backend.serve("b")
    #expect(try await client.image(for: backend.url("a"), size: 256).origin == .network)
    #expect(try await client.image(for: backend.url("a"), size: 256).origin == .store)
    let missing = await client.failure(of: ImageRequest(url: backend.url("missing")))
    #expect(missing?.code == .httpStatus && missing?.httpStatus == 404)
    #expect(backend.fetchCount(of: "a") == 1)
    try backend.serveInParts("slow")
    var request = ImageRequest(url: backend.url("slow"))
    request.timeout = .milliseconds(200)
    #expect(await client.failure(of: request)?.code == .timeout)
    #expect(try await eventually { backend.activeFetchCount == 0 })
  }
}
