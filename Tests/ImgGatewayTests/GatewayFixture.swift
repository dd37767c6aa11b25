import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgSettings
import Testing

@testable import ImgGateway

/// A gateway over a cluster in memory, asked without a server.
struct GatewayFixture {
  /// How long a test waits for an event. Thousands of tests share the threads of a small machine.
  static let patience = Duration.seconds(240)

  let cluster = InMemoryCluster()
  let gateway: Gateway

  init(isLocal: Bool = true, _ change: (inout GatewaySettings) -> Void = { _ in }) throws {
    var settings = GatewaySettings()
    change(&settings)
    gateway = try Gateway(cluster, settings: settings, isLocal: isLocal)
  }

  /// A picture of the origin, which has been stored for an hour and expires in an hour.
  func serve(_ url: String, bytes: [UInt8] = [1, 2, 3], format: ImageFormat = .jpeg) {
    cluster.serve(url, Self.image(bytes: bytes, format: format))
  }

  static func image(bytes: [UInt8], format: ImageFormat = .jpeg) -> LoadedImage {
    LoadedImage(
      bytes: bytes, format: format, width: 4, height: 2,
      source: SourcePicture(format: .png, width: 40, height: 20, byteCount: 400),
      origin: .network)
  }

  /// The answer, whether it comes at once or later. It is recorded as a server does it.
  func response(
    _ method: HTTPMethod = .get, _ target: String, _ fields: HTTPFields = [:]
  ) async -> HTTPResponse {
    let request = HTTPRequest(method, target, fields: fields)
    let response =
      switch gateway.answer(to: request) {
      case .response(let response): response
      case .repeated(let repeated): repeated.response
      case .later(_, let body): await body()
      }
    gateway.record(response.status, to: request, after: .zero)
    return response
  }

  /// A picture that the origin holds back until ``InMemoryCluster/resume(_:)``.
  static let heldURL = "https://a.example/held.jpg"

  /// Asks for ``heldURL``, and returns when its load has begun.
  func beginHeldLoad() async throws -> Task<HTTPResponse, Never> {
    cluster.serve(Self.heldURL, Self.image(bytes: [1]), after: [.hold])
    let held = Task { await response(.get, "/image?url=\(Self.heldURL)") }
    try await waitForFetches(1, of: Self.heldURL)
    return held
  }

  /// Returns when that many fetches of a URL have begun.
  func waitForFetches(_ count: Int, of url: String) async throws {
    let deadline = ContinuousClock.now + Self.patience
    while cluster.fetchCount(of: url) < count {
      try #require(ContinuousClock.now < deadline)
      await Task.yield()
    }
  }
}

extension PreparedImage {
  /// One that takes no room of others.
  init(_ image: LoadedImage) {
    self.init(image, takenFrom: ByteBudget(.max))
  }
}

extension HTTPResponse {
  /// The bytes of a body that is no stream.
  var bytes: [UInt8] {
    if case .bytes(let body) = body { body.bytes } else { [] }
  }

  var text: String { String(decoding: bytes, as: UTF8.self) }
}
