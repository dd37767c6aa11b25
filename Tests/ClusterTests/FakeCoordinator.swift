import ImgModel
import ImgWire
import TestCluster

/// A listener that greets as a coordinator does and names a store of its choice.
struct FakeCoordinator: ~Copyable {
  private let listener: ScriptedListener
  private let store: String

  init(socketPath: String, store: String) throws {
    listener = try ScriptedListener(socketPath: socketPath)
    self.store = store
  }

  /// Answers one client's hello and its requests for the status until it leaves.
  ///
  /// - Returns: the other requests.
  consuming func serve() throws -> [ClientMessage] {
    var others: [ClientMessage] = []
    let status = status
    let hello = Hello(processID: 1, storeDirectory: store)
    _ = try listener.serve(hello: .hello(hello)) { request in
      switch request {
      case .status(let request):
        return [.status(ClusterReply(id: request.id, cluster: status))]
      case .jobs(let request):
        return [.jobs(JobsPage(id: request.id, jobs: [], hasMore: false))]
      default:
        others.append(request)
        return []
      }
    }
    return others
  }

  private var status: ClusterStatus {
    ClusterStatus(
      state: .running, processID: 1, version: Build.version, startedAt: WallTime(rawValue: 0),
      socketPath: "/socket", dataDirectory: "/theirs", workers: [], transfers: 0, activeJobs: 0,
      viewers: 0, lateAnswers: 0, discardedLate: 0, journalError: nil, storeError: nil,
      limits: Limits(),
      settings: CoordinatorSettings(
        workerExecutable: "/imgworker", idleExit: nil, allowedNetworks: [],
        allowedDirectories: [], authorityFile: nil, requiresSandbox: false))
  }
}
