import ImgCommands
import ImgModel
import ImgWire
import Testing

@Suite(.timeLimit(.minutes(20))) struct StatusCommandTests {
  private func output(of status: ClusterStatus, _ options: String...) async throws -> String {
    let result = try await ScriptedCoordinator().run(["status"] + options) { request in
      switch request {
      case .status(let request): [.status(ClusterReply(id: request.id, cluster: status))]
      case .jobs(let request): [.jobs(JobsPage(id: request.id, jobs: [], hasMore: false))]
      default: [nil]
      }
    }
    return result.output
  }

  private func status(
    _ error: StoreErrorStatus?, wait: Wait? = nil, waitingHosts: [Wait] = []
  ) -> ClusterStatus {
    ClusterStatus(
      state: .running, processID: 1, version: "0", startedAt: WallTime(rawValue: 0),
      socketPath: "/socket", dataDirectory: "/data", workers: [], transfers: 0, activeJobs: 0,
      viewers: 0, lateAnswers: 0, discardedLate: 0, journalError: nil, storeError: error,
      wait: wait, waitingHosts: waitingHosts, limits: Limits(),
      settings: CoordinatorSettings(
        workerExecutable: "/imgworker", idleExit: .seconds(600),
        allowedNetworks: ["10.0.0.0/8"], allowedDirectories: ["/srv"],
        authorityFile: "/own.pem", requiresSandbox: true))
  }

  @Test func `a store error is shown with the thumbnails served but not stored`() async throws {
    // A clock that was set back shows no age.
    let since = WallTime(rawValue: 4_102_444_800_000)
    let error = StoreErrorStatus(reason: "the store is full", since: since, servedCount: 12)
    let line = "the store is full; 12 thumbnails served but not stored in the last 0ms"
    #expect(try await output(of: status(error)).contains("ERROR        \(line)\n"))
    let json = try await output(of: status(error), "--json")
    #expect(
      json.contains(
        #""store_error":{"reason":"the store is full","served":12,"since":"#))
  }

  @Test func `the waits of the cluster and of hosts are shown`() async throws {
    let status = status(
      nil, wait: Wait(.noWorker, detail: "imgworker is missing"),
      waitingHosts: [Wait(.hostFailing, host: "example.org", httpStatus: 503, urls: 12)])
    let text = try await output(of: status)
    #expect(text.contains("waiting      no worker is ready: imgworker is missing\n"))
    #expect(text.contains("\n  12  example.org answered 503, and a transfer is probing it\n"))
    let json = try await output(of: status, "--json")
    #expect(json.contains(#""wait":{"detail":"imgworker is missing","kind":"no_worker"}"#))
    let host = #"{"host":"example.org","http_status":503,"kind":"host_failing","urls":12}"#
    #expect(json.contains(#""waiting_hosts":[\#(host)]"#))
  }

  @Test func `status --limits shows all settings of the coordinator`() async throws {
    let json = try await output(of: status(nil), "--limits", "--json")
    for part in [
      #""allow_network":["10.0.0.0/8"]"#, #""allow_directory":["/srv"]"#, #""idle_exit_ms":600000"#,
      #""ca_file":"/own.pem""#, #""worker_executable":"/imgworker""#, #""socket":"/socket""#,
      #""transfers":64"#, #""require_sandbox":true"#,
    ] {
      #expect(json.contains(part), "\(part)")
    }
    let table = try await output(of: status(nil), "--limits")
    #expect(table.contains(#/allowed networks +--allow-network +10\.0\.0\.0/8 /#))
    #expect(table.contains(#/sandbox required +--require-sandbox +yes +no/#))
    #expect(table.contains(#/exit when idle +--idle-exit +10m /#))
  }

  @Test func `a store without errors is not mentioned`() async throws {
    #expect(try await !output(of: status(nil)).contains("ERROR"))
    #expect(try await !output(of: status(nil), "--json").contains("store_error"))
  }
}
