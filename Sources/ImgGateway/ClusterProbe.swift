import ImgClient
import ImgModel

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
