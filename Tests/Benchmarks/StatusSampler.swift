import Dispatch
import ImgClient
import ImgModel
import ImgSystem
import Synchronization

/// Asks for the cluster's status again and again while something else runs, and looks at the
/// coordinator's memory each time.
final class StatusSampler: Sendable {
  /// What was seen.
  struct Seen {
    /// How long each process `imgctl status` lived, in milliseconds.
    var processes = Samples()
    /// How long each answer took over a connection that stands, in milliseconds: the same without
    /// a process, which has to wait for a core as well.
    var answers = Samples()
    /// The most memory without a file behind it, and the most of mapped files, in MiB: the kernel
    /// takes the latter back when another process needs it.
    var privatePeak = 0.0
    var mappedPeak = 0.0

    fileprivate mutating func add(_ memory: ThisProcess.MemoryUse) {
      let mapped = memory.residentByteCount - memory.privateByteCount
      privatePeak = max(privatePeak, Double(memory.privateByteCount) / Double(1 << 20))
      mappedPeak = max(mappedPeak, Double(mapped) / Double(1 << 20))
    }
  }

  private let seen = Mutex(Result<Seen, any Error>.success(Seen()))
  private let end: Wakeup
  private let group = DispatchGroup()

  /// Often enough for a quantile, seldom enough to leave the cores to what is measured.
  private static let interval = Duration.milliseconds(25)

  /// Begins.
  init(_ cluster: Cluster) throws {
    end = try Wakeup()
    DispatchQueue.global().async(group: group) { [self] in
      let result = Result { try sample(cluster) }
      seen.withLock { $0 = result }
    }
  }

  /// Ends, and tells what was seen.
  func finish() throws -> Seen {
    end.signal()
    group.wait()
    return try seen.withLock { try $0.get() }
  }

  private func sample(_ cluster: Cluster) throws -> Seen {
    var seen = Seen()
    let client = try cluster.client()
    repeat {
      seen.processes.add(try cluster.run(["status", "--json"]) / .milliseconds(1))
      let start = ContinuousClock.now
      let processID = try client.status().processID
      seen.answers.add(start.duration(to: .now) / .milliseconds(1))
      guard let memory = ThisProcess.memoryUse(of: processID) else {
        throw BenchError("the coordinator, process \(processID), is gone")
      }
      seen.add(memory)
    } while try !UnixSocket.waitReadable(end.descriptor, until: .now + Self.interval)
    return seen
  }
}
