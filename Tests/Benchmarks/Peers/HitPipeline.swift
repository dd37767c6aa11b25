import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// A client that sends the next requests before the earlier ones are answered.
struct HitPipeline {
  /// Requests on their way.
  static let depth = 64

  private let channel: Channel<CoordinatorReply, ClientMessage>
  private let deadline = ContinuousClock.now + .seconds(120)

  init(socketPath: String) throws {
    channel = try Channel(try UnixSocket.connect(path: socketPath))
    try channel.send(.hello(Hello(processID: ThisProcess.processID)))
    guard case .hello = try channel.next(until: deadline) else {
      throw BenchError("the coordinator did not greet")
    }
  }

  /// Gets `count` stored thumbnails, each of `urls` in turn.
  ///
  /// - Returns: how long that took.
  func run(_ urls: [ImageURL], count: Int) throws -> Duration {
    let options = RequestOptions(variant: .standard)
    let start = ContinuousClock.now
    var (sent, answered) = (0, 0)
    while answered < count {
      while sent < count, sent - answered < Self.depth {
        let request = GetRequest(
          id: RequestID(rawValue: UInt64(sent + 1)), url: urls[sent % urls.count].text,
          options: options)
        try channel.send(.get(request))
        sent += 1
      }
      try channel.flush(until: deadline)
      let reply = try channel.next(until: deadline)
      guard case .got(let got) = reply, case .done = got.outcome else {
        throw BenchError("a stored thumbnail was not answered with: \(reply)")
      }
      answered += 1
    }
    return start.duration(to: .now)
  }
}
