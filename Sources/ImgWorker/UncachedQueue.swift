import ImgModel
import ImgSystem
import ImgTransport
import ImgWire
import ImgWorkerMachine

/// Thumbnails that are not in the store, on their way to the coordinator. They wait as bytes and not
/// as open files, until the channel takes more files.
struct UncachedQueue {
  private var waiting: [(result: UncachedResult, bytes: [UInt8])] = []

  var isEmpty: Bool { waiting.isEmpty }

  mutating func add(_ result: UncachedResult, bytes: [UInt8]) {
    waiting.append((result, bytes))
  }

  /// Sends as many as the coordinator keeps up with.
  ///
  /// - Returns: what became of them.
  mutating func send(
    over channel: Channel<CoordinatorMessage, WorkerMessage>
  ) throws(ChannelError) -> [WorkerMachine.Event] {
    var events: [WorkerMachine.Event] = []
    for (result, bytes) in waiting {
      guard channel.takesFile else { break }
      let file: PassedFile
      do throws(SystemError) {
        file = try MemoryFile(containing: bytes).file
      } catch {
        events.append(.uncachedFailed(result.lease, detail: error.description))
        continue
      }
      try channel.send(.uncached(result), with: file)
      events.append(.uncachedSent(result.lease))
    }
    waiting.removeFirst(events.count)
    return events
  }
}
