import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel
import ImgSettings
import Synchronization
import Testing

@testable import ImgGateway

/// Requests with `wait`, and the phases that answers name.
@Suite(.timeLimit(.minutes(20))) struct WaitTests {
  private static let held = GatewayFixture.heldURL
  private static let target = "/image?url=\(held)&w=30&h=20&wait=0"

  private static let thumbHash: [UInt8] = [
    0xD9, 0xF8, 0x1D, 0x15, 0x86, 0x78, 0x87, 0x88, 0x77, 0x97, 0x87, 0x77, 0x88, 0x88, 0x78, 0x67,
    0x07, 0x76, 0x80, 0x73, 0x08,
  ]

  private let fixture: GatewayFixture

  init() throws {
    fixture = try GatewayFixture()
    fixture.cluster.serve(Self.held, GatewayFixture.image(bytes: [7]), after: [.hold])
  }

  /// Asks for the same picture, and waits for it as long as a request may.
  private func endResponse() async -> HTTPResponse {
    await fixture.response(.get, "/image?url=\(Self.held)&w=30&h=20&wait=60000")
  }

  @Test(arguments: [HTTPMethod.get, .head])
  func `a slow picture has a placeholder at once, and is there later, after one fetch`(
    method: HTTPMethod
  ) async throws {
    for _ in 1...2 {
      let response = await fixture.response(method, "\(Self.target)&placeholder=photo")
      #expect(response.status == .ok)
      #expect(response.fields["Content-Type"] == "image/svg+xml")
      #expect(response.fields["X-Phase"] == "empty")
      #expect(response.fields["Cache-Control"] == "no-store")
      #expect(response.fields["Retry-After"] == "1")
      #expect(response.fields["Refresh"] == "1")
      #expect(response.fields["X-Imgctl-Failure"] == nil)
      #expect(response.text.contains(#"width="30" height="20""#))
    }
    fixture.cluster.resume(Self.held)
    let picture = await endResponse()
    #expect(picture.bytes == [7])
    #expect(picture.fields["X-Phase"] == "success")
    #expect(picture.fields["Cache-Control"]?.hasPrefix("public") == true)
    #expect(picture.fields["Refresh"] == nil)
    #expect(fixture.cluster.fetchCount(of: Self.held) == 1)
    let metrics = await fixture.response(.get, "/metrics").text
    #expect(metrics.contains(#"imgctl_gateway_pictures_total{from="placeholder"} "#))
  }

  @Test func `a failure of a load that went on is told to who asks again`() async throws {
    let error = ImageError(code: .httpStatus, httpStatus: 404, message: "the origin answered 404")
    fixture.cluster.serve(Self.held, failure: error, after: [.hold])
    #expect(await fixture.response(.get, Self.target).fields["X-Phase"] == "empty")
    fixture.cluster.resume(Self.held)
    let failure = await endResponse()
    #expect(failure.status == .notFound)
    #expect(failure.fields["X-Phase"] == "failure")
    #expect(failure.text.contains(#""error":{"code":"http_status""#))
    let replaced = await fixture.response(.get, "\(Self.target)&default=photo")
    #expect(replaced.status == .ok)
    #expect(replaced.fields["X-Phase"] == "failure")
    #expect(replaced.fields["X-Imgctl-Failure"] == "http_status")
    #expect(fixture.cluster.fetchCount(of: Self.held) == 1)
  }

  @Test func `a picture that comes within the time is the answer`() async throws {
    let response = Task { await fixture.response(.get, "/image?url=\(Self.held)&wait=60000") }
    try await fixture.waitForFetches(1, of: Self.held)
    fixture.cluster.resume(Self.held)
    #expect(await response.value.fields["X-Phase"] == "success")
  }

  @Test(arguments: [
    "/image?url=\(held)&timeout=50", "/_/timeout:50/plain/\(held)",
    "/image?url=\(held)&timeout=50&wait=60000",
  ])
  func `a request has a time of its own`(target: String) async throws {
    let response = await fixture.response(.get, target)
    #expect(response.status == .gatewayTimeout)
    #expect(response.text.contains(#""error":{"code":"timeout""#))
    let id = try await fixture.cluster.submitJob(ImageJobRequest(), urls: [Self.held])
    let listed = await fixture.response(.get, "/id/\(id)-0/30/20?timeout=50")
    #expect(listed.status == .gatewayTimeout)
  }

  @Test(arguments: ["0", "-1", "1s", "86400001", ""])
  func `a time that is none is refused`(text: String) async {
    for target in [
      "/image?url=\(Self.held)&timeout=\(text)", "/_/timeout:\(text)/plain/\(Self.held)",
    ] {
      let response = await fixture.response(.get, target)
      #expect(response.status == .badRequest, "\(target)")
      #expect(response.text.contains("whole milliseconds from 1 to 86400000"), "\(target)")
    }
  }

  @Test func `a client that leaves while it waits ends no load`() async throws {
    let response = Task { await fixture.response(.get, "/image?url=\(Self.held)&wait=60000") }
    try await fixture.waitForFetches(1, of: Self.held)
    response.cancel()
    #expect(await response.value.fields["X-Phase"] == "empty")
    fixture.cluster.resume(Self.held)
    let target = "/image?url=\(Self.held)&wait=60000"
    #expect(await fixture.response(.get, target).bytes == [7])
    #expect(fixture.cluster.fetchCount(of: Self.held) == 1)
  }

  @Test(arguments: [
    ("blank", "></svg>"), ("%23f00", ##"fill="#ff0000""##), ("text:A%26B", ">A&amp;B</text>"),
    ("thumbhash", "></svg>"), ("https://a.example/unknown.jpg", "></svg>"),
  ])
  func `a placeholder is a drawing, and nothing where there is none`(
    text: String, part: String
  ) async throws {
    let response = await fixture.response(.get, "\(Self.target)&placeholder=\(text)")
    #expect(response.fields["X-Phase"] == "empty")
    #expect(response.fields["Content-Type"] == "image/svg+xml")
    #expect(response.text.contains(part))
  }

  @Test func `another picture is a placeholder once it is stored`() async throws {
    fixture.serve("https://a.example/other.jpg", bytes: [9])
    let target = "\(Self.target)&placeholder=https://a.example/other.jpg"
    let deadline = ContinuousClock.now + GatewayFixture.patience
    var response = await fixture.response(.get, target)
    while response.bytes != [9], ContinuousClock.now < deadline {
      response = await fixture.response(.get, target)
    }
    #expect(response.bytes == [9])
    #expect(response.fields["X-Phase"] == "empty")
    #expect(response.fields["Content-Type"] == "image/jpeg")
    #expect(response.fields["Cache-Control"] == "no-store")
  }

  @Test func `without a placeholder, the picture is blurred if it is stored in another format`()
    async throws
  {
    let image = GatewayFixture.image(bytes: [7])
    let hashed = LoadedImage(
      bytes: image.bytes, format: .jpeg, width: 4, height: 2,
      source: SourcePicture(
        format: .png, width: 40, height: 20, byteCount: 400, thumbHash: Self.thumbHash),
      origin: .network)
    fixture.cluster.serve(Self.held, hashed)
    #expect(
      await fixture.response(.get, "/image?url=\(Self.held)&w=30&h=20&output=png").bytes == [7])
    fixture.cluster.serve(Self.held, hashed, after: [.hold])
    let response = await fixture.response(.get, "\(Self.target)&output=webp")
    #expect(response.fields["X-Phase"] == "empty")
    #expect(response.text.contains("data:image/png;base64,"))
  }

  @Test func `a path of imgproxy and one below id wait, too`() async throws {
    let id = try await fixture.cluster.submitJob(ImageJobRequest(), urls: [Self.held])
    for target in [
      "/_/rs:fill:30:20/wait:0/placeholder:text%3AAB/plain/\(Self.held)",
      "/id/\(id)-0/30/20?wait=0&placeholder=text:AB",
    ] {
      let response = await fixture.response(.get, target)
      #expect(response.fields["X-Phase"] == "empty")
      #expect(response.text.contains(">AB</text>"), "\(target)")
      #expect(response.text.contains(#"width="30" height="20""#), "\(target)")
    }
  }

  @Test(arguments: [
    "wait=", "wait=-1", "wait=1.5", "wait=60001", "wait=99999999999999999999", "wait=soon",
    "placeholder=photo", "wait=0&placeholder=", "wait=0&placeholder=house",
    "wait=0&placeholder=text:", "wait=0&placeholder=%23nothing",
  ])
  func `a wait that is none is refused`(parameters: String) async throws {
    let job = try await fixture.cluster.submitJob(ImageJobRequest(), urls: [Self.held])
    let options = parameters.replacing("&", with: "/").replacing("=", with: ":")
    for target in [
      "/image?url=\(Self.held)&\(parameters)", "/id/\(job)-0/30?\(parameters)",
      "/_/\(options)/plain/\(Self.held)",
    ] {
      let response = await fixture.response(.get, target)
      #expect(response.status == .badRequest, "\(target)")
      #expect(response.fields["X-Phase"] == "failure")
      #expect(response.text.contains("invalid_option"), "\(target): \(response.text)")
    }
  }

  @Test func `each answer for a picture names its phase`() async throws {
    fixture.serve("https://a.example/a.jpg")
    let target = "/image?url=https://a.example/a.jpg"
    let first = await fixture.response(.get, target)
    let second = await fixture.response(.head, target)
    let tag = try #require(second.fields["ETag"])
    let known = await fixture.response(.get, target, ["If-None-Match": tag])
    #expect(known.status == .notModified)
    for response in [first, second, known] { #expect(response.fields["X-Phase"] == "success") }
    for failing in ["/image", "/image?url=https://a.example/none.jpg", "/_/plain/x", "/id/9-0"] {
      #expect(await fixture.response(.get, failing).fields["X-Phase"] == "failure", "\(failing)")
    }
    #expect(await fixture.response(.get, "/health").fields["X-Phase"] == nil)
    #expect(await fixture.response(.get, "/nothing").fields["X-Phase"] == nil)
  }

  @Test func `a load that goes on keeps its place, and one without a place is refused`()
    async throws
  {
    let fixture = try GatewayFixture { $0.maximumLoads = 1 }
    fixture.cluster.serve(Self.held, GatewayFixture.image(bytes: [7]), after: [.hold])
    #expect(await fixture.response(.get, Self.target).fields["X-Phase"] == "empty")
    let refused = await fixture.response(.get, "/image?url=https://a.example/b.jpg&wait=0")
    #expect(refused.status == .serviceUnavailable)
    #expect(refused.fields["X-Phase"] == "failure")
    #expect(refused.fields["Retry-After"] == "1")
  }

  @Test
  func `a picture that was not stored stays for the next request, however little memory there is`()
    async throws
  {
    let cluster = InMemoryCluster()
    let client = ImageClient(transport: cluster, memoryCache: nil)
    let loads = ContinuedLoads(
      PictureLoader(client: client, images: PreparedImages(client), limit: LoadLimit(4)),
      timeout: GatewayFixture.patience)
    var request = ImageRequest(url: "https://a.example/large.jpg")
    request.cachePolicy = .bypass
    cluster.serve(request.url, GatewayFixture.image(bytes: Array(repeating: 7, count: 10_000)))
    cluster.memory.change(to: 100)
    for _ in 1...2 {
      guard
        case .ended(.success) = await loads.progress(of: request, within: GatewayFixture.patience)
      else {
        Issue.record("there is no picture")
        return
      }
      #expect(cluster.fetchCount(of: request.url) == 1)
    }
  }

  @Test func `a failure is forgotten after a while, and the next request loads again`() async throws
  {
    let cluster = InMemoryCluster()
    let client = ImageClient(transport: cluster, memoryCache: nil)
    let clock = Mutex(ContinuousClock.now)
    let loads = ContinuedLoads(
      PictureLoader(client: client, images: PreparedImages(client), limit: LoadLimit(4)),
      timeout: GatewayFixture.patience, now: { clock.withLock { $0 } })
    let request = ImageRequest(url: "https://a.example/none.jpg")
    for (seconds, count) in [(0, 1), (19, 1), (2, 2)] {
      clock.withLock { $0 += .seconds(seconds) }
      guard
        case .ended(.failure) = await loads.progress(of: request, within: GatewayFixture.patience)
      else {
        Issue.record("the load has not failed")
        return
      }
      #expect(cluster.fetchCount(of: request.url) == count)
    }
  }
}
