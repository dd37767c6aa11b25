import ImgClient
import ImgHTTP
import ImgModel
import Synchronization

/// What the gateway tells of itself and of the cluster: whether it is ready, and its metrics.
final class Measurements: Sendable {
  private let answers = GatewayMetrics()
  private let pictures: PictureService
  private let probe: ClusterProbe
  private let showsReasons: Bool
  /// The server has its handler, which has this object.
  private struct ServerReference {
    weak var server: HTTPServer?
  }

  private let reference = Mutex(ServerReference())

  /// - Parameter showsReasons: whether clients may see why pictures cannot be made. A reason can have paths of
  ///   this machine.
  init(of pictures: PictureService, probe: ClusterProbe, showsReasons: Bool) {
    self.pictures = pictures
    self.probe = probe
    self.showsReasons = showsReasons
  }

  func measure(_ server: HTTPServer) {
    reference.withLock { $0.server = server }
  }

  func record(_ route: Route.Name, _ status: HTTPStatus, after duration: Duration) {
    answers.record(route, status, after: duration)
  }

  /// Whether pictures can be made now.
  func readiness() -> HTTPAnswer {
    .later { [probe, showsReasons] in
      guard let reason = await probe.reasonAgainstReadiness() else { return .text("ready\n") }
      return .text(showsReasons ? "\(reason)\n" : "not ready\n", .serviceUnavailable)
    }
  }

  /// All metrics.
  func text() -> HTTPAnswer {
    .later { [self] in
      var text = MetricsText()
      answers.add(to: &text)
      pictures.counts.add(to: &text)
      addLoads(to: &text)
      addMemory(to: &text)
      if let statistics = reference.withLock({ $0.server })?.statistics {
        add(statistics, to: &text)
      }
      await probe.add(to: &text)
      return .text(text.text, type: MetricsText.mediaType)
    }
  }

  private func addLoads(to text: inout MetricsText) {
    text.add(
      "imgctl_gateway_loads", .gauge, Double(pictures.loads.count),
      help: "Pictures that load for requests.")
    text.add(
      "imgctl_gateway_loads_limit", .gauge, Double(pictures.loads.maximum),
      help: "The maximum number of pictures that load for requests.")
  }

  private func addMemory(to text: inout MetricsText) {
    text.add(
      "imgctl_gateway_memory_bytes", .gauge, Double(pictures.memory.keptByteCount),
      help: "Bytes of pictures and answers that are kept in memory.")
    text.add(
      "imgctl_gateway_memory_limit_bytes", .gauge, Double(pictures.memory.byteCount),
      help: "The share of the memory budget that this process has.")
  }

  private func add(_ statistics: HTTPServer.Statistics, to text: inout MetricsText) {
    text.add(
      "imgctl_gateway_connections", .gauge, Double(statistics.openConnections),
      help: "Open connections.")
    text.add(
      "imgctl_gateway_connections_total", .counter, Double(statistics.acceptedConnections),
      help: "Connections that were accepted.")
    text.add(
      "imgctl_gateway_refused_connections_total", .counter,
      Double(statistics.refusedConnections),
      help: "Connections that were closed because their address had too many.")
    text.add(
      "imgctl_gateway_sent_bytes_total", .counter, Double(statistics.sentBytes),
      help: "Bytes of bodies, counted when their answers begin.")
    text.add(
      "imgctl_gateway_streams", .gauge, Double(statistics.streams), help: "Event streams.")
  }
}

/// How long answers took, in buckets.
final class DurationHistogram: Sendable {
  /// The upper bounds of the buckets in seconds: from a hit to the limit of a load.
  private static let bounds = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
  ]

  private struct State {
    var counts = [UInt64](repeating: 0, count: DurationHistogram.bounds.count + 1)
    var sum = Duration.zero
  }

  private let state = Mutex(State())

  func record(_ duration: Duration) {
    let seconds = duration / .seconds(1)
    let bucket = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
    state.withLock { state in
      state.counts[bucket] += 1
      state.sum += duration
    }
  }

  /// Adds the buckets, the sum and the count of the metric `name`, which was begun.
  func add(as name: String, labels route: String, to text: inout MetricsText) {
    let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
    var total: UInt64 = 0
    for (bound, count) in zip(Self.bounds + [.infinity], counts) {
      total += count
      let bound = bound == .infinity ? "+Inf" : String(bound)
      text.add("\(name)_bucket", ["route": route, "le": bound], Double(total))
    }
    text.add("\(name)_sum", ["route": route], sum / .seconds(1))
    text.add("\(name)_count", ["route": route], Double(total))
  }
}

/// What the gateway has answered, by route and status.
final class GatewayMetrics: Sendable {
  private struct Answers: Hashable {
    let route: Route.Name
    let status: HTTPStatus
  }

  private let answers = Mutex<[Answers: UInt64]>([:])
  private let durations = Dictionary(
    uniqueKeysWithValues: Route.Name.allCases.map { ($0, DurationHistogram()) })

  func record(_ route: Route.Name, _ status: HTTPStatus, after duration: Duration) {
    answers.withLock { $0[Answers(route: route, status: status), default: 0] += 1 }
    durations[route]?.record(duration)
  }

  func add(to text: inout MetricsText) {
    let counts = answers.withLock { $0 }
    let requests = "imgctl_gateway_requests_total"
    text.begin(requests, .counter, help: "Answers of the gateway.")
    let sorted = counts.sorted {
      ($0.key.route.rawValue, $0.key.status.rawValue) < (
        $1.key.route.rawValue, $1.key.status.rawValue
      )
    }
    for (key, count) in sorted {
      text.add(
        requests, ["route": key.route.rawValue, "status": "\(key.status.rawValue)"], Double(count))
    }
    let seconds = "imgctl_gateway_request_seconds"
    text.begin(
      seconds, .histogram, help: "The time from a whole request to the start of its answer.")
    for route in Route.Name.allCases {
      durations[route]?.add(as: seconds, labels: route.rawValue, to: &text)
    }
  }
}

/// Where the pictures of answers came from, so that the share of hits can be seen.
final class PictureCounts: Sendable {
  private let fromStore = Atomic<UInt64>(0)
  private let fromNetwork = Atomic<UInt64>(0)
  private let replacements = Atomic<UInt64>(0)
  private let placeholders = Atomic<UInt64>(0)

  /// Counts an answer that has a picture, or says that the client has it (304).
  func count(_ response: HTTPResponse, from origin: LoadedImage.Origin) {
    guard response.status != .preconditionFailed else { return }
    switch origin {
    case .memory, .store: fromStore.add(1, ordering: .relaxed)
    case .network: fromNetwork.add(1, ordering: .relaxed)
    }
  }

  /// An answer has something else in place of a picture that failed.
  func countReplacement() {
    replacements.add(1, ordering: .relaxed)
  }

  /// An answer has a placeholder, because its picture is loading.
  func countPlaceholder() {
    placeholders.add(1, ordering: .relaxed)
  }

  func add(to text: inout MetricsText) {
    let name = "imgctl_gateway_pictures_total"
    text.begin(name, .counter, help: "Answers with a picture, by where it came from.")
    for (source, count) in [
      ("store", fromStore.load(ordering: .relaxed)),
      ("network", fromNetwork.load(ordering: .relaxed)),
      ("replacement", replacements.load(ordering: .relaxed)),
      ("placeholder", placeholders.load(ordering: .relaxed)),
    ] {
      text.add(name, ["from": source], Double(count))
    }
  }
}

/// Metrics in the text format of Prometheus, version 0.0.4.
struct MetricsText {
  enum Kind: String {
    case counter, gauge, histogram
  }

  private(set) var text = ""

  static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

  /// Begins a metric.
  ///
  /// - Parameter help: one line.
  mutating func begin(_ name: String, _ kind: Kind, help: String) {
    text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
  }

  /// A value of the metric that was begun last.
  ///
  /// - Parameter labels: their values need no escapes.
  mutating func add(_ name: String, _ labels: KeyValuePairs<String, String>, _ value: Double) {
    let list = labels.map { "\($0)=\"\($1)\"" }.joined(separator: ",")
    text +=
      list.isEmpty ? "\(name) \(Self.text(value))\n" : "\(name){\(list)} \(Self.text(value))\n"
  }

  /// A metric with one value.
  mutating func add(_ name: String, _ kind: Kind, _ value: Double, help: String) {
    begin(name, kind, help: help)
    add(name, [:], value)
  }

  private static func text(_ value: Double) -> String {
    value == .infinity
      ? "+Inf"
      : value == value.rounded() && abs(value) < 1e15
        ? String(Int64(value)) : String(value)
  }
}

/// What the gateway knows of the cluster behind it. A transport that is no cluster tells nothing.
struct ClusterProbe: Sendable {
  let transport: ClusterTransport?

  /// Who asks for readiness or metrics waits no longer than this for a coordinator that does not answer. A
  /// client of the cluster waits longer, because it may come back.
  private static let patience = Duration.seconds(2)

  /// Whether thumbnails can be made: a coordinator answers, and the store can be read.
  ///
  /// - Returns: `nil` if they can, else why not.
  func reasonAgainstReadiness() async -> String? {
    guard let transport else { return nil }
    do throws(ImageError) {
      let status = try await Self.status(of: transport)
      guard status.state == .running else { return "the coordinator is stopping" }
      guard status.workers.contains(where: { $0.state == .ready }) else {
        return "no worker is ready"
      }
      _ = try await transport.storeSize()
      return nil
    } catch {
      // That of the client library is for people who write programs with it.
      let advice = "start it with imgctl start, or its service with systemctl start imgcoordinator"
      return (error.code == .unreachable ? error.advising(advice) : error).message
    }
  }

  private static func status(
    of transport: ClusterTransport
  ) async throws(ImageError) -> ClusterStatus {
    let result = await withTaskGroup(of: Result<ClusterStatus, ImageError>.self) { group in
      group.addTask {
        do throws(ImageError) {
          return .success(try await transport.answer(.status))
        } catch {
          return .failure(error)
        }
      }
      group.addTask {
        // Its cancellation means that the other task was faster.
        try? await Task.sleep(for: patience)
        return .failure(
          ImageError(
            code: .unreachable, isRetryable: true, message: "the coordinator does not answer"))
      }
      defer { group.cancelAll() }
      return await group.next()
    }
    guard let result else { preconditionFailure("the group has two tasks") }
    return try result.get()
  }

  func add(to text: inout MetricsText) async {
    guard let transport else { return }
    // A cluster that does not answer is a value, too; its details are missing then.
    let status = try? await Self.status(of: transport)
    text.add(
      "imgctl_up", .gauge, status == nil ? 0 : 1, help: "Whether the coordinator answers.")
    if let status {
      addCoordinator(status, to: &text)
      addWorkers(of: status, to: &text)
      if let jobs = try? await transport.activeJobs() { addJobs(jobs, to: &text) }
    }
    if let size = (try? await transport.storeSize()) ?? nil { addStore(size, to: &text) }
  }

  private func addCoordinator(_ status: ClusterStatus, to text: inout MetricsText) {
    text.add(
      "imgctl_coordinator_start_time_seconds", .gauge,
      Double(status.startedAt.rawValue) / 1000,
      help: "When the coordinator started, in seconds since 1970.")
    text.add(
      "imgctl_transfers", .gauge, Double(status.transfers), help: "Transfers under way.")
    text.add(
      "imgctl_transfers_limit", .gauge, Double(status.limits.transfers),
      help: "The maximum number of concurrent transfers.")
    text.add(
      "imgctl_memory_budget_bytes", .gauge, Double(status.limits.memoryBudgetByteCount),
      help: "The maximum size of the pictures that processes keep in memory.")
    text.add(
      "imgctl_active_jobs", .gauge, Double(status.activeJobs), help: "Jobs that have not ended.")
    text.add(
      "imgctl_viewers", .gauge, Double(status.viewers),
      help: "Requests for single thumbnails that wait.")
    text.add(
      "imgctl_discarded_fetches_total", .counter, Double(status.discardedLate),
      help: "Fetches that ended after their clients had left.")
    text.add(
      "imgctl_store_error", .gauge, status.storeError == nil ? 0 : 1,
      help: "Whether thumbnails cannot be stored.")
    text.add(
      "imgctl_journal_error", .gauge, status.journalError == nil ? 0 : 1,
      help: "Whether outcomes cannot be recorded.")
  }

  /// The reasons of waits. What a limit of bandwidth holds has outcomes, only later.
  private static let waitKinds = Wait.Kind.allCases.filter { $0 != .bandwidth }

  /// - Parameter jobs: those that have not ended, the newest of very many.
  private func addJobs(_ jobs: [ImageJob], to text: inout MetricsText) {
    let waiting = "imgctl_waiting_jobs"
    text.begin(
      waiting, .gauge,
      help:
        "Jobs that have had no outcome for a while, by what they wait for. Those that a limit of bandwidth holds do not "
        + "count.")
    for kind in Self.waitKinds {
      let count = jobs.count(where: { $0.wait?.kind == kind })
      text.add(waiting, ["reason": kind.rawValue], Double(count))
    }
    let name = "imgctl_active_job_urls"
    text.begin(name, .gauge, help: "URLs of the jobs that have not ended.")
    let counts: [(String, (ImageJob) -> Int)] = [
      ("queued", \.queued), ("running", \.running), ("done", \.done), ("failed", \.failed),
    ]
    for (state, count) in counts {
      text.add(name, ["state": state], Double(jobs.reduce(0) { $0 + count($1) }))
    }
  }

  private func addWorkers(of status: ClusterStatus, to text: inout MetricsText) {
    func addMetric(
      _ name: String, _ kind: MetricsText.Kind, help: String,
      _ value: (ClusterStatus.Worker) -> Int
    ) {
      text.begin(name, kind, help: help)
      for worker in status.workers {
        text.add(name, ["worker": "\(worker.number)"], Double(value(worker)))
      }
    }
    addMetric("imgctl_worker_ready", .gauge, help: "Whether the worker takes work.") {
      $0.state == .ready ? 1 : 0
    }
    addMetric("imgctl_worker_fetching", .gauge, help: "URLs that the worker fetches.") {
      $0.fetching
    }
    addMetric(
      "imgctl_worker_decoding", .gauge, help: "Pictures that the worker's decoder has."
    ) { $0.decoding }
    addMetric("imgctl_worker_deaths_total", .counter, help: "Unexpected exits of the worker.") {
      $0.deaths
    }
    addMetric("imgctl_decoder_deaths_total", .counter, help: "Unexpected exits of its decoders.") {
      $0.decoderDeaths
    }
  }

  private func addStore(_ size: CacheSize, to text: inout MetricsText) {
    text.add(
      "imgctl_store_records", .gauge, Double(size.recordCount), help: "Records of the store.")
    text.add(
      "imgctl_store_bytes", .gauge, Double(size.occupiedByteCount), help: "The size of the store.")
    text.add(
      "imgctl_store_budget_bytes", .gauge, Double(size.effectiveBudgetByteCount),
      help: "The size that the store may have.")
  }
}
