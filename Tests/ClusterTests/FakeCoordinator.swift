import ImgModel
import ImgSystem
import ImgTransport
import ImgWire
import TestCluster

/// A listener that greets as a coordinator does and names a store of its choice.
struct FakeCoordinator: ~Copyable {
  private let listener: UnixListener
  private let store: String

  init(socketPath: String, store: String) throws {
    listener = try UnixListener(path: socketPath)
    self.store = store
  }

  /// Answers one client's hello and its requests for the status until it leaves.
  ///
  /// - Returns: the other requests.
  consuming func serve() throws -> [ClientMessage] {
    guard
      try UnixSocket.waitReadable(listener.descriptor, until: .now + ProgramRun.patience),
      let connection = try listener.accept()
    else { return [] }
    let channel = try Channel<ClientMessage, CoordinatorReply>(connection.takeDescriptor())
    var requests: [ClientMessage] = []
    while let request = try? channel.next(until: .now + ProgramRun.patience) {
      switch request {
      case .hello: try channel.send(.hello(Hello(processID: 1, storeDirectory: store)))
      case .status(let request):
        try channel.send(.status(ClusterReply(id: request.id, cluster: status)))
      case .jobs(let request):
        try channel.send(.jobs(JobsPage(id: request.id, jobs: [], hasMore: false)))
      default: requests.append(request)
      }
    }
    return requests
  }

  private var status: ClusterStatus {
    ClusterStatus(
      state: .running, processID: 1, version: Build.version, startedAt: WallTime(rawValue: 0),
      socketPath: "/socket", dataDirectory: "/theirs", workers: [], transfers: 0, activeJobs: 0,
      viewers: 0, lateAnswers: 0, discardedLate: 0, journalError: nil, storeError: nil,
      limits: Limits(),
      settings: CoordinatorSettings(
        workerExecutable: "/imgworker", idleExitMilliseconds: nil, allowedNetworks: [],
        allowedDirectories: [], authorityFile: nil))
  }
}
