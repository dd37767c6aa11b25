import ImgDecode
import ImgFetch
import ImgSystem
import ImgTransport
import ImgWire

@testable import ImgWorker

/// A worker on a thread of this process, with the test as its coordinator. It leaves when the test
/// lets go of it.
final class RunningWorker {
  private var channel: Channel<WorkerMessage, CoordinatorMessage>?
  private let thread: ServiceThread<Never>
  private let directory: TemporaryDirectory

  private static let curl = Result { () throws(CurlError) in try CurlRuntime.start() }

  /// - Parameter limits: of which the limit of its memory is not set for this process.
  /// - Throws: also when the worker does not begin.
  init(limits given: Limits = Limits()) throws {
    var limits = given
    // A test may be kept waiting for long while the origin holds its picture back.
    limits.transferTimeoutMilliseconds = 600_000
    limits.stallTimeoutMilliseconds = 600_000
    directory = try TemporaryDirectory()
    var pair = try UnixSocket.pair()
    let channel = try Channel<WorkerMessage, CoordinatorMessage>(pair.takeFirst())
    let descriptor = pair.takeSecond().release()
    let loopback = NetworkRange(bytes: [127, 0, 0, 0], prefixLength: 8)
    let welcome = Welcome(
      hello: Hello(processID: ThisProcess.processID), limits: limits,
      storeDirectory: directory.path, allowedNetworks: [loopback].compactMap { $0 })
    let curl = try Self.curl.get()
    let vips = try VipsRuntime.start()
    let board = try WorkerBoard()
    thread = try ServiceThread(name: "worker", capacity: 1) { _ in
      // Its end closes the channel, which the test sees.
      try? Self.run(
        Channel(OwnedDescriptor(adopting: descriptor)), board: board, welcome: welcome,
        curl: curl, vips: vips)
    }
    self.channel = channel
    guard case .ready = try channel.next(until: .now + .seconds(60)) else { throw Unexpected() }
  }

  deinit {
    channel = nil
    thread.join()
  }

  private static func run(
    _ channel: Channel<CoordinatorMessage, WorkerMessage>, board: WorkerBoard, welcome: Welcome,
    curl: CurlRuntime, vips: VipsRuntime
  ) throws {
    try Worker(channel: channel, board: board, welcome: welcome, curl: curl, vips: vips).run()
  }

  func send(_ message: CoordinatorMessage) throws {
    try channel?.send(message)
  }

  /// What the worker says until it has told the ends of so many leases.
  func messages(untilEnded count: Int) throws -> Said {
    try messages { $0.gone.count + $0.outcomes.count >= count }
  }

  /// What the worker says until that is enough; `said` is what it said before.
  func messages(after said: Said = Said(), until isEnough: (Said) -> Bool) throws -> Said {
    var said = said
    while let channel, !isEnough(said) {
      switch try channel.next(until: .now + .seconds(60)) {
      case .transferred(let list): said.transferred += list.leases
      case .gone(let list): said.gone += list.leases
      case .finished(let results):
        for result in results.results { said.outcomes[result.lease] = result.outcome }
      case .hello, .ready, .refused, .lookedUp: throw Unexpected()
      }
    }
    return said
  }

  /// Returns when the worker has handled what it was sent before.
  func settle() throws {
    let none = Batch(
      variant: .standard, expireAfterMilliseconds: 60_000, isUrgent: false, items: [])
    try send(.lookup(none))
    guard case .lookedUp = try channel?.next(until: .now + .seconds(60)) else { throw Unexpected() }
  }

  struct Said {
    var transferred: [LeaseID] = []
    var gone: [LeaseID] = []
    var outcomes: [LeaseID: Outcome] = [:]
  }

  struct Unexpected: Error {}
}
