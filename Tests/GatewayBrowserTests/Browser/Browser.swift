import FoundationEssentials
import ImgSystem
import TestFiles

/// A headless Chromium with one page. It connects to no host but 127.0.0.1, and ends with this object.
final class Browser {
  static let executable = "/usr/bin/chromium"
  static let isInstalled = FileManager.default.isExecutableFile(atPath: executable)

  private struct Nothing: Codable {}

  private let directory: TestDirectory
  private let process: ChildProcess
  private let pipe: DevToolsPipe
  private let session: String

  /// The numbers of the descriptors that the browser reads and writes.
  private static let (input, output): (CInt, CInt) = (3, 4)

  private static let arguments = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--remote-debugging-pipe", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-default-apps", "--disable-sync", "--no-pings",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "about:blank",
  ]

  /// - Parameters:
  ///   - width: of the window in pixels.
  ///   - height: of the window in pixels.
  ///   - media: features of media queries, such as `prefers-reduced-motion`.
  init(width: Int = 1400, height: Int = 900, media: [String: String] = [:]) async throws {
    directory = try TestDirectory()
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
    session = try await Self.openPage(pipe)
    for domain in ["Page", "Runtime", "Network", "Log"] {
      try await call("\(domain).enable", Nothing())
    }
    try await call(
      "Emulation.setDeviceMetricsOverride",
      Metrics(width: width, height: height, deviceScaleFactor: 1, mobile: false))
    let features = media.map { Media.Feature(name: $0.key, value: $0.value) }
    try await call("Emulation.setEmulatedMedia", Media(features: features))
  }

  deinit {
    // Without the pipe, the browser ends.
    pipe.close()
    if process.waitForExit(until: .now + .seconds(10)) == nil {
      process.signal(9)
      _ = process.waitForExit(until: .now + .seconds(10))
    }
  }

  private static func openPage(_ pipe: DevToolsPipe) async throws -> String {
    struct Target: Codable { let targetId: String }
    struct Address: Encodable { let url: String }
    struct Session: Encodable {
      let targetId: String
      let flatten: Bool
    }
    struct Reply: Decodable { let sessionId: String }
    let target = try await pipe.call(
      "Target.createTarget", Address(url: "about:blank"), session: nil, as: Target.self)
    return try await pipe.call(
      "Target.attachToTarget", Session(targetId: target.targetId, flatten: true), session: nil,
      as: Reply.self
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
  var events: [DevToolsPipe.Event] { pipe.events }
}
