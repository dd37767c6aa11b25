import ImgModel
import ImgSystem
import ImgWire
import Synchronization
import TestCluster

/// A ``ScriptedListener`` on a thread of its own.
final class ScriptedCoordinator {
  /// What the thread works with.
  private final class Shared: Sendable {
    let listener: Mutex<ScriptedListener>
    let requests = Mutex<[ClientMessage]>([])

    init(socketPath: String) throws {
      listener = Mutex(try ScriptedListener(socketPath: socketPath))
    }
  }

  private let shared: Shared
  private let thread: ServiceThread<Never>

  /// - Parameters:
  ///   - hello: the answer to the client's hello; `nil` closes the connection.
  ///   - replies: to a request; the connection closes after them where `nil` ends them.
  init(
    socketPath: String, hello: CoordinatorReply? = .hello(.sample),
    replies: @escaping @Sendable (ClientMessage) -> [CoordinatorReply?] = { _ in [nil] }
  ) throws {
    let shared = try Shared(socketPath: socketPath)
    self.shared = shared
    thread = try ServiceThread(name: "coordinator", capacity: 1) { _ in
      shared.listener.withLock { listener in
        let requests = try? listener.serve(hello: hello, replies)
        shared.requests.withLock { $0 = requests ?? [] }
      }
    }
  }

  /// The requests after the hello, once the client has left.
  func requests() -> [ClientMessage] {
    thread.join()
    return shared.requests.withLock { $0 }
  }
}

extension Hello {
  /// What a coordinator says first.
  static let sample = Hello(processID: 7, storeDirectory: "/data/store/thumbnails")
}

extension JobStatus {
  /// A job of twenty lines.
  static func sample(_ number: UInt64, _ state: JobRecord.State = .queued) -> JobStatus {
    JobStatus(
      JobRecord(
        id: JobID(rawValue: number), options: RequestOptions(variant: .standard), state: state,
        counts: JobCounts(total: 20), submittedAt: WallTime(rawValue: 0)))
  }
}
