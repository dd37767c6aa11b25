import ImgClient
import ImgModel
import ImgSystem
import ImgWire
import Synchronization
import TestCluster
import TestOrigin
import TestPictures

/// What serves the loads of a test. Users test against the cluster in memory, so both have to behave alike.
enum Backend: CaseIterable, Sendable {
  case cluster, inMemory

  func make() throws -> any ServingBackend {
    switch self {
    case .cluster: try RealBackend()
    case .inMemory: InMemoryBackend()
    }
  }

  /// A backend that serves these pictures, and its client.
  ///
  /// - Parameter slow: a picture that arrives in parts.
  func serving(
    _ names: String..., inParts slow: String? = nil
  ) throws -> (any ServingBackend, ImageClient) {
    let backend = try make()
    return (backend, try backend.client(of: names, inParts: slow))
  }
}

/// A source of pictures of 320 × 240 pixels.
protocol ServingBackend: AnyObject, Sendable {
  /// A transport that shares nothing with others in this process.
  func makeTransport() throws -> any ImageTransport
  func url(_ name: String) -> String
  /// Serves a picture from now on.
  func serve(_ name: String) throws
  /// Serves another picture from now on.
  func serveAnother(_ name: String) throws
  /// A picture to put, which ``serve(_:)`` does not serve.
  func upload() throws -> [UInt8]
  /// Serves a picture that arrives in parts; each but the first waits for ``release(_:step:)``.
  func serveInParts(_ name: String) throws
  /// Lets the part behind a step arrive, counted from 0.
  func release(_ name: String, step: Int)
  func fetchCount(of name: String) -> Int
  /// Fetches that are under way.
  var activeFetchCount: Int { get }
}

extension ServingBackend {
  /// A client with a memory of its own.
  func makeClient() throws -> ImageClient {
    ImageClient(transport: try makeTransport())
  }

  /// Serves pictures, the last of them in parts.
  fileprivate func client(of names: [String], inParts slow: String?) throws -> ImageClient {
    for name in names { try serve(name) }
    if let slow { try serveInParts(slow) }
    return try makeClient()
  }

  /// Lets all parts of a picture arrive.
  func releaseAll(_ name: String) {
    for step in 0..<RealBackend.stepCount { release(name, step: step) }
  }
}

/// A real cluster and a real origin.
final class RealBackend: ServingBackend {
  /// Parts of a picture that arrives slowly.
  static let stepCount = 3

  // Only its places are used after it has started.
  nonisolated(unsafe) let cluster: Cluster
  let origin: TestOrigin

  /// - Parameter settings: see `Cluster`. A part that is held back is no stall, however late the test is.
  init(_ settings: [String: String] = [:]) throws {
    let patience = ["STALL_TIMEOUT": "10m", "TRANSFER_TIMEOUT": "10m"]
    unsafe cluster = try Cluster(patience.merging(settings) { _, given in given })
    origin = TestOrigin()
  }

  /// A cluster and an origin that serves these pictures, and a client.
  static func serving(
    _ names: String..., inParts slow: String? = nil
  ) throws -> (RealBackend, ImageClient) {
    let backend = try RealBackend()
    return (backend, try backend.client(of: names, inParts: slow))
  }

  func makeTransport() throws -> any ImageTransport {
    try ClusterTransport(unsafe cluster.configuration)
  }

  func url(_ name: String) -> String { "\(origin.baseURL)/\(name)" }

  func serve(_ name: String) throws {
    origin.serve("/\(name)", .body(try PictureMaker.start().card(index: 1)))
  }

  func serveAnother(_ name: String) throws {
    origin.serve("/\(name)", .body(try PictureMaker.start().card(index: 2)))
  }

  func upload() throws -> [UInt8] { try PictureMaker.start().card(index: 3) }

  func serveInParts(_ name: String) throws {
    let picture = try ArrivingPicture(.progressiveJPEG)
    origin.serve("/\(name)", .body(picture.bytes, delivery: .steps(picture.steps)))
  }

  func release(_ name: String, step: Int) { origin.release("/\(name)", step: step) }

  func fetchCount(of name: String) -> Int { origin.counters("/\(name)").requests }

  var activeFetchCount: Int { origin.totals().inFlight }
}

extension Cluster {
  /// The places of the cluster. No load starts a coordinator.
  var configuration: ClusterConfiguration {
    ClusterConfiguration(
      socketPath: socketPath, dataDirectory: dataDirectory, startsCoordinator: false)
  }
}

final class InMemoryBackend: ServingBackend {
  private let cluster = InMemoryCluster()

  func makeTransport() -> any ImageTransport { cluster }

  func url(_ name: String) -> String { "https://example.org/\(name)" }

  func serve(_ name: String) {
    cluster.serve(
      url(name),
      LoadedImage(
        bytes: [1, 2, 3], format: .jpeg, width: 256, height: 192,
        source: SourcePicture(
          format: .jpeg, width: 320, height: 240, byteCount: 500,
          thumbHash: [32, 8, 2, 7, 0] + Array(repeating: 0, count: 19)),
        origin: .network),
      pixels: ImagePixels(Card(index: 1, width: 256, height: 192).raster))
  }

  func serveAnother(_ name: String) {
    cluster.serve(
      url(name),
      LoadedImage(
        bytes: [4], format: .jpeg, width: 256, height: 192, source: LoadedImage.sample.source,
        origin: .network))
  }

  func upload() -> [UInt8] {
    cluster.serve(
      upload: [9],
      LoadedImage(
        bytes: [5, 6], format: .jpeg, width: 256, height: 192, source: LoadedImage.sample.source,
        origin: .network))
    return [9]
  }

  func serveInParts(_ name: String) {
    let parts = (1...RealBackend.stepCount).flatMap { part -> [InMemoryCluster.Step] in
      [
        .update(
          .progress(ImageProgress(receivedByteCount: part * 100, expectedByteCount: 500))),
        .update(
          .preview(
            ImagePreview(number: part, bytes: [UInt8(part)], format: .jpeg, width: 256, height: 192)
          )),
        .hold,
      ]
    }
    let end = ImageProgress(receivedByteCount: 500, expectedByteCount: 500)
    cluster.serve(url(name), .sample, after: parts + [.update(.progress(end))])
  }

  func release(_ name: String, step: Int) { cluster.resume(url(name)) }

  func fetchCount(of name: String) -> Int { cluster.fetchCount(of: url(name)) }

  var activeFetchCount: Int { cluster.activeFetchCount }
}

extension LoadedImage {
  static let sample = LoadedImage(
    bytes: [1, 2, 3], format: .jpeg, width: 256, height: 192,
    source: SourcePicture(format: .jpeg, width: 320, height: 240, byteCount: 500), origin: .network)
}

/// Waits until a condition holds, without keeping a thread of the tasks.
///
/// - Returns: whether it did before a long time was over.
func eventually(
  isolation: isolated (any Actor)? = #isolation, _ condition: () throws -> Bool
) async throws -> Bool {
  let end = ContinuousClock.now + .seconds(240)
  while ContinuousClock.now < end {
    if try condition() { return true }
    try await Task.sleep(for: .milliseconds(2))
  }
  return false
}

/// How a call fails; `nil` if it does not.
func failure<Value>(of call: () async throws(ImageError) -> Value) async -> ImageError? {
  do throws(ImageError) {
    _ = try await call()
    return nil
  } catch {
    return error
  }
}

extension ImageClient {
  /// How a load fails; `nil` if it does not.
  func failure(of request: ImageRequest) async -> ImageError? {
    await ImgClientTests.failure { () async throws(ImageError) in try await image(for: request) }
  }
}

extension ImagePhases {
  /// The phases of one load, up to its end.
  var all: [ImagePhase] {
    get async { await reduce(into: []) { $0.append($1) } }
  }
}

/// A ``ScriptedListener`` on a thread of its own.
final class ScriptedCoordinator {
  /// What the thread works with.
  private final class Shared: Sendable {
    let listener: Mutex<ScriptedListener>
    let requests = Mutex<[ClientMessage]>([])

    init(socketPath: String) throws {
      listener = Mutex(try ScriptedListener(socketPath: socketPath))
    }
  }

  private let shared: Shared
  private let thread: ServiceThread<Never>

  /// - Parameters:
  ///   - hello: the answer to the client's hello; `nil` closes the connection.
  ///   - replies: to a request; the connection closes after them where `nil` ends them.
  init(
    socketPath: String, hello: CoordinatorReply? = .hello(.sample),
    replies: @escaping @Sendable (ClientMessage) -> [CoordinatorReply?] = { _ in [nil] }
  ) throws {
    let shared = try Shared(socketPath: socketPath)
    self.shared = shared
    thread = try ServiceThread(name: "coordinator", capacity: 1) { _ in
      shared.listener.withLock { listener in
        let requests = try? listener.serve(hello: hello, replies)
        shared.requests.withLock { $0 = requests ?? [] }
      }
    }
  }

  /// The requests after the hello, once the client has left.
  func requests() -> [ClientMessage] {
    thread.join()
    return shared.requests.withLock { $0 }
  }
}

extension Hello {
  /// What a coordinator says first.
  static let sample = Hello(processID: 7, storeDirectory: "/data/store/thumbnails")
}

extension ImageJob {
  /// A job of twenty lines.
  static func sample(_ number: UInt64, _ state: JobRecord.State = .queued) -> ImageJob {
    ImageJob(
      JobRecord(
        id: JobID(rawValue: number), options: RequestOptions(variant: .standard), state: state,
        counts: JobCounts(total: 20), submittedAt: WallTime(rawValue: 0)))
  }
}
