import Dispatch
import FoundationEssentials
import ImgSystem
import Synchronization
import TestFiles
import Testing

/// A headless Chromium. It connects to no host but 127.0.0.1, and ends with this object.
///
/// Its start takes longer than most tests, so they share one.
final class Chromium: Sendable {
  private static let executable = "/usr/bin/chromium"
  static let isInstalled = FileManager.default.isExecutableFile(atPath: executable)

  /// That of the tests that run at this moment.
  @TaskLocal static var shared: Chromium?

  private let directory = TestDirectory()
  private let process: ChildProcess
  let pipe: DevToolsPipe

  /// The numbers of the descriptors that the browser reads and writes.
  private static let (input, output): (CInt, CInt) = (3, 4)

  private static let arguments = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--remote-debugging-pipe", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-default-apps", "--disable-sync", "--no-pings",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "about:blank",
  ]

  init() throws {
    var pair = try UnixSocket.pair()
    let ours = pair.takeFirst()
    let theirs = pair.takeSecond()
    let messages = try FileIO.create(directory.file("messages"))
    process = try ChildProcess.spawn(
      executable: Self.executable,
      arguments: ["--user-data-dir=\(directory.file("profile"))"] + Self.arguments,
      environment: ["PATH": "/usr/bin:/bin", "HOME": directory.path, "TMPDIR": directory.path],
      descriptors: [
        (parent: messages.rawValue, child: 1), (parent: messages.rawValue, child: 2),
        (parent: theirs.rawValue, child: Self.input), (parent: theirs.rawValue, child: Self.output),
      ])
    pipe = DevToolsPipe(ours)
  }

  deinit {
    // Without the pipe, the browser ends.
    pipe.close()
    if process.waitForExit(until: .now + .seconds(10)) == nil {
      process.signal(9)
      _ = process.waitForExit(until: .now + .seconds(10))
    }
  }
}

/// Starts a ``Chromium`` for the tests of a suite.
struct SharedChromium: SuiteTrait, TestScoping {
  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await Chromium.$shared.withValue(Chromium()) { try await function() }
  }
}

/// A window of ``Chromium/shared`` with one page. It shares nothing with others, and ends with this object.
class Browser {
  private struct Nothing: Codable {}

  private struct Context: Codable {
    let browserContextId: String
  }

  private let pipe: DevToolsPipe
  private let context: Context
  private let session: String

  /// - Parameters:
  ///   - width: of the window in pixels.
  ///   - height: of the window in pixels.
  ///   - media: features of media queries, such as `prefers-reduced-motion`.
  init(width: Int = 1400, height: Int = 900, media: [String: String] = [:]) async throws {
    guard let chromium = Chromium.shared else { throw BrowserError("no browser runs") }
    pipe = chromium.pipe
    context = try await pipe.call(
      "Target.createBrowserContext", Nothing(), session: nil, as: Context.self)
    session = try await Self.openPage(pipe, in: context)
    for domain in ["Page", "Runtime", "Network", "Log"] {
      try await call("\(domain).enable", Nothing())
    }
    try await call("Page.bringToFront", Nothing())
    try await call(
      "Emulation.setDeviceMetricsOverride",
      Metrics(width: width, height: height, deviceScaleFactor: 1, mobile: false))
    let features = media.map { Media.Feature(name: $0.key, value: $0.value) }
    try await call("Emulation.setEmulatedMedia", Media(features: features))
  }

  deinit {
    pipe.post("Target.disposeBrowserContext", context, closing: session)
  }

  private static func openPage(_ pipe: DevToolsPipe, in context: Context) async throws -> String {
    struct Page: Encodable {
      let url = "about:blank"
      let browserContextId: String
    }
    struct Target: Codable { let targetId: String }
    struct Session: Encodable {
      let targetId: String
      let flatten = true
    }
    struct Reply: Decodable { let sessionId: String }
    let target = try await pipe.call(
      "Target.createTarget", Page(browserContextId: context.browserContextId), session: nil,
      as: Target.self)
    return try await pipe.call(
      "Target.attachToTarget", Session(targetId: target.targetId), session: nil, as: Reply.self
    ).sessionId
  }

  private struct Metrics: Encodable {
    let width: Int
    let height: Int
    let deviceScaleFactor: Int
    let mobile: Bool
  }

  private struct Media: Encodable {
    struct Feature: Encodable {
      let name: String
      let value: String
    }

    let features: [Feature]
  }

  /// Calls a method of the page that has no result.
  func call(_ method: String, _ parameters: some Encodable) async throws {
    _ = try await pipe.call(method, parameters, session: session, as: Nothing.self)
  }

  /// Calls a method of the page.
  func call<Result: Decodable>(
    _ method: String, _ parameters: some Encodable, as type: Result.Type
  ) async throws -> Result {
    try await pipe.call(method, parameters, session: session, as: type)
  }

  /// What the page has told until now.
  var events: [DevToolsPipe.Event] { pipe.events(of: session) }
}

/// The connection to a browser that `--remote-debugging-pipe` opens: messages of the Chrome DevTools protocol
/// in JSON, each with a zero byte behind it.
///
/// A thread of its own waits for the answers, not one of those that all tests and the server share.
final class DevToolsPipe: Sendable {
  /// What the browser tells unasked, such as a request that a page has sent.
  struct Event: Sendable {
    let method: String
    fileprivate let message: Data

    /// The parameters of the event.
    func parameters<Parameters: Decodable>(as type: Parameters.Type) throws -> Parameters {
      try DevToolsPipe.decoder.decode(Notification<Parameters>.self, from: message).params
    }
  }

  private struct Call<Parameters: Encodable>: Encodable {
    let id: Int
    let method: String
    let params: Parameters
    let sessionId: String?
  }

  private struct Envelope: Decodable {
    struct Fault: Decodable {
      let message: String
    }

    let id: Int?
    let method: String?
    let sessionId: String?
    let error: Fault?
  }

  private struct Reply<Result: Decodable>: Decodable {
    let result: Result
  }

  private struct Notification<Parameters: Decodable>: Decodable {
    let params: Parameters
  }

  /// How long a browser may take for an answer: far longer than it does.
  private static let patience = Duration.seconds(60)
  private static let decoder = JSONDecoder()

  private struct State {
    var buffer: [UInt8] = []
    var lastID = 0
    /// By the sessions of pages.
    var events: [String: [Event]] = [:]

    mutating func newID() -> Int {
      lastID += 1
      return lastID
    }
  }

  private let socket: OwnedDescriptor
  private let queue = DispatchQueue(label: "browser")
  private let state = Mutex(State())

  init(_ socket: consuming OwnedDescriptor) {
    self.socket = socket
  }

  /// The events of a page until now, in their order.
  func events(of session: String) -> [Event] { state.withLock { $0.events[session] ?? [] } }

  /// Ends the connection.
  func close() {
    StreamSocket.shutDown(socket.rawValue)
  }

  /// Calls a method, and waits for its result.
  ///
  /// - Parameter session: that of a page; `nil` for the browser.
  func call<Result: Decodable>(
    _ method: String, _ parameters: some Encodable, session: String?, as type: Result.Type
  ) async throws -> Result {
    let id = state.withLock { $0.newID() }
    let call = Call(id: id, method: method, params: parameters, sessionId: session)
    let bytes = try Array(JSONEncoder().encode(call)) + [0]
    let message = try await withCheckedThrowingContinuation { continuation in
      queue.async { [self] in
        continuation.resume(with: Swift.Result { try reply(to: bytes, id: id) })
      }
    }
    if let error = try Self.decoder.decode(Envelope.self, from: message).error {
      throw BrowserError("\(method): \(error.message)")
    }
    return try Self.decoder.decode(Reply<Result>.self, from: message).result
  }

  /// Calls a method of the browser that ends a page, without waiting for its reply.
  func post(_ method: String, _ parameters: some Encodable, closing session: String) {
    let id = state.withLock { $0.newID() }
    let call = Call(id: id, method: method, params: parameters, sessionId: nil)
    guard let bytes = try? Array(JSONEncoder().encode(call)) + [0] else { return }
    queue.async { [self] in
      state.withLock { $0.events[session] = nil }
      // A browser that has ended has no page either.
      try? send(bytes)
    }
  }

  private func send(_ call: [UInt8]) throws {
    var rest = call[...]
    while !rest.isEmpty {
      rest = rest.dropFirst(try UnixSocket.send(socket.rawValue, rest) ?? 0)
    }
  }

  /// Sends a call. Keeps the events that come before its reply.
  private func reply(to call: [UInt8], id: Int) throws -> Data {
    try send(call)
    let deadline = ContinuousClock.now + Self.patience
    while true {
      let message = try nextMessage(until: deadline)
      let envelope = try Self.decoder.decode(Envelope.self, from: message)
      if envelope.id == id { return message }
      if let method = envelope.method {
        let event = Event(method: method, message: message)
        state.withLock { $0.events[envelope.sessionId ?? "", default: []].append(event) }
      }
    }
  }

  private func nextMessage(until deadline: ContinuousClock.Instant) throws -> Data {
    try state.withLock { state in
      while true {
        if let end = state.buffer.firstIndex(of: 0) {
          let message = Data(state.buffer[..<end])
          state.buffer.removeSubrange(...end)
          return message
        }
        guard try UnixSocket.waitReadable(socket.rawValue, until: deadline) else {
          throw BrowserError("the browser does not answer")
        }
        let result = try UnixSocket.receive(socket.rawValue, into: &state.buffer, upTo: 1 << 16)
        if result == .closed { throw BrowserError("the browser has ended") }
      }
    }
  }
}

/// What went wrong in a browser or in a page.
struct BrowserError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
