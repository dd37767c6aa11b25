import ImgModel
import ImgWire

/// What confines the coordinator, and the workers and their decoders, as each worker reports it.
struct SandboxReports {
  private let coordinator: SandboxReport
  private var reports: [WorkerID: WorkerSandbox] = [:]
  /// The warnings that were given. A kernel gives reason for few.
  private var warnings: Set<String> = []

  init(coordinator: SandboxReport) {
    self.coordinator = coordinator
  }

  /// A worker has reported.
  ///
  /// - Returns: lines for the log about protections that the kernel lacks, if they are news.
  mutating func add(_ sandbox: WorkerSandbox, of worker: WorkerID) -> [String] {
    reports[worker] = sandbox
    return [("workers", sandbox.worker), ("decoders", sandbox.decoder)].compactMap {
      (processes, report) in
      let missing = report.missing.joined(separator: " and ")
      let warning = "warning: the \(processes) run without \(missing), which the kernel lacks"
      return missing.isEmpty || !warnings.insert(warning).inserted ? nil : warning
    }
  }

  /// A worker has ended.
  mutating func remove(_ worker: WorkerID) { reports[worker] = nil }

  /// What is in force in all processes of each kind.
  var status: ClusterStatus.Sandboxes {
    ClusterStatus.Sandboxes(
      coordinator: coordinator, workers: SandboxReport(ofAll: reports.values.map(\.worker)),
      decoders: SandboxReport(ofAll: reports.values.map(\.decoder)))
  }
}
