import ImgClient
import ImgModel
import ImgSystem
import ImgWire

/// What one coordinator can feed: 64 workers that answer at once, see ``NullWorker``.
extension Bench {
  private static let workerCount = 64
  private static let pictureCount = 200_000

  /// The processor time of the coordinator decides how many processors it can feed. How fast the list ends beside
  /// that depends on the workers, which share this machine's processors with it.
  func measureCoordinator(into report: inout Report) throws {
    let list = try LongList(
      .refused, lineCount: options.scaled(Self.pictureCount),
      path: options.workDirectory + "/coordinator-list")
    let cluster = try start(
      "coordinator",
      settings: [
        "--workers", "\(Self.workerCount)", "--transfers", "4096",
        "--worker-executable", options.programDirectory + "/imgbench",
      ])
    defer { try? cluster.stop() }
    let coordinator = try cluster.client().coordinatorProcessID
    var (rates, costs): ([Double], [Double]) = ([], [])
    for round in 1...options.rounds {
      try note("a coordinator of \(Self.workerCount) workers, round \(round) of \(options.rounds)")
      let before = try ProcessorTime.seconds(of: coordinator)
      let duration = try cluster.run(["submit", "--wait", list.path])
      let seconds = try ProcessorTime.seconds(of: coordinator) - before
      rates.append(Double(list.lineCount) / duration.inSeconds)
      costs.append(seconds / Double(list.lineCount) * 1e6)
    }
    let command =
      "imgctl submit --wait LIST (\(list.lineCount) URLs, \(Self.workerCount) workers that answer at once)"
    report.add("coordinator: a picture", Samples(costs), "µs", command: command)
    report.add(
      "coordinator: one processor feeds", Samples(costs.map { 1e6 / $0 }), "pictures/s",
      command: command)
    report.add("coordinator: whole list", Samples(rates), "pictures/s", command: command)
  }
}

/// A worker that fetches nothing and answers at once, so that what a coordinator costs can be measured with more
/// workers than a machine has processors. A coordinator starts it in place of `imgworker`.
struct NullWorker {
  private let channel: Channel<CoordinatorMessage, WorkerMessage>
  private let heartbeat: WorkerHeartbeat

  /// The watchdog of the coordinator ends a worker that does not beat for ten seconds.
  private static let heartbeatInterval = Duration.seconds(2)
  /// As large as that of a photograph of the web.
  private static let outcome = Outcome.done(
    Thumbnail(format: .jpeg, width: 256, height: 192, byteCount: 9_000), fromCache: false,
    bytesFetched: 110_000)

  /// Whether a coordinator has started this process.
  static var isWanted: Bool {
    (try? UnixSocket.credentials(of: WorkerDescriptor.channel)) != nil
  }

  init() throws {
    ThisProcess.dieWithParent(signal: 9)
    channel = try Channel(OwnedDescriptor(adopting: WorkerDescriptor.channel))
    heartbeat = try WorkerHeartbeat(
      adopting: OwnedDescriptor(adopting: WorkerDescriptor.heartbeat))
  }

  /// Runs until the coordinator drains it or closes the channel.
  func run() throws {
    do {
      try channel.send(.hello(Hello(processID: ThisProcess.processID)))
      try serve()
    } catch ChannelError.closed {
      return
    }
  }

  private func serve() throws {
    while true {
      heartbeat.beat()
      let message: CoordinatorMessage
      do throws(ChannelError) {
        message = try channel.next(until: .now + Self.heartbeatInterval)
      } catch {
        guard case .timedOut = error else { throw error }
        continue
      }
      if case .drain = message { return }
      for answer in Self.answers(to: message) { try channel.send(answer) }
    }
  }

  private static func answers(to message: CoordinatorMessage) -> [WorkerMessage] {
    switch message {
    case .welcome:
      return [
        .sandboxed(WorkerSandbox(worker: SandboxReport(), decoder: SandboxReport())),
        .ready(Credits(lookups: 256, leases: 8_192, decodeQueueTarget: 8)),
      ]
    case .lookup(let batch):
      let misses = batch.items.map(\.lease)
      return [.lookedUp(LookupResults(hits: [], stale: [], originals: [], misses: misses))]
    case .fetch(let batch), .attach(let batch), .decode(let batch):
      let leases = batch.items.map(\.lease)
      let results = leases.map { FetchResults.Result(lease: $0, outcome: outcome) }
      return [.transferred(leases), .finished(FetchResults(results: results))]
    case .cancel(let leases):
      return [.released(leases)]
    case .sweep, .unpin:
      return [
        .store(
          StoreReport(
            directory: "/data/store", budgetByteCount: 1 << 30, diskByteCount: nil,
            pinnedByteCount: 0, pinningJobs: []))
      ]
    case .decodeUpload, .followRedirects, .updates, .decoderExited, .dropConnections, .drain:
      return []
    }
  }
}
