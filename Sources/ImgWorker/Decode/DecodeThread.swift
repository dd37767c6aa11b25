import ImgModel
import ImgStore
import ImgSystem
import ImgTransport
import ImgWire
import ImgWorkerMachine

/// The thread that gives pictures to the decoder, one at a time, and waits for it. It blocks for as
/// long as a picture takes, while the loop goes on.
///
/// Its methods are for the thread of the loop.
final class DecodeThread {
  /// While no picture comes, the thread looks this often for decoders that have exited.
  private static let upkeepInterval = Duration.seconds(1)
  /// Decoders whose ends the thread has not seen: at most the one in use, the spare, and one that each
  /// of them has replaced. More would come from a coordinator that makes them up, and are dropped.
  private static let exitCapacity = 16

  private let thread: ServiceThread<DecodeJob>
  private let exits: BlockingQueue<DecoderExit>
  /// Those of jobs whose ends the loop has not seen.
  private var cancellations: [LeaseID: Cancellation] = [:]

  /// - Parameters:
  ///   - capacity: jobs that may wait; the worker's credits keep within it.
  ///   - commands: gets what the coordinator is to do.
  ///   - inbox: gets one `decoded` event for each job. The thread does not hold the body any more.
  init(
    limits: Limits, requiresSandbox: Bool, reader: PictureReader, heartbeat: WorkerHeartbeat,
    capacity: Int, commands: Mailbox<DecoderCommand>, inbox: Mailbox<Input>
  ) throws(SystemError) {
    let exits = try BlockingQueue<DecoderExit>(capacity: Self.exitCapacity)
    self.exits = exits
    thread = try ServiceThread(name: "decode", capacity: capacity) { queue in
      let decoders = DecoderPool(
        limits: limits, requiresSandbox: requiresSandbox, commands: commands, exits: exits)
      let decoder = PictureDecoder(
        reader: reader,
        factsReader: FactsReader(
          store: reader.store, files: reader.files,
          maximumByteCount: Int(limits.maxBodyByteCount)),
        decoders: decoders, limits: limits, heartbeat: heartbeat)
      // Before the first picture comes.
      guard decoders.refill() else { return }
      while var jobs = queue.take(upTo: 1, until: .now + Self.upkeepInterval) {
        // Taken out, so that the body is freed before the event says so.
        while !jobs.isEmpty {
          guard let result = decoder.result(of: jobs.removeFirst()) else { return }
          inbox.post(result)
        }
        if queue.count == 0 {
          guard decoders.refill() else { return }
        }
      }
    }
  }

  /// How many pictures wait.
  var waitingCount: Int { thread.queue.count }

  /// Urgent jobs come first, the newest of them before the others.
  func submit(_ job: DecodeJob) {
    cancellations[job.lease] = job.cancellation
    let isQueued = thread.queue.push(job, isFirst: job.isUrgent)
    precondition(isQueued, "the thread's queue holds all leases that the credits allow")
  }

  /// Skips the job of the lease if its turn has not come.
  func cancel(_ lease: LeaseID) {
    cancellations[lease]?.set()
  }

  /// The loop has seen the end of the job.
  func finished(_ lease: LeaseID) {
    cancellations[lease] = nil
  }

  /// The coordinator says that a decoder has ended.
  func decoderExited(_ exit: DecoderExit) {
    _ = exits.push(exit)
  }
}
