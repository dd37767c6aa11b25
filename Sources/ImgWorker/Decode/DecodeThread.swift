import ImgModel
import ImgStore
import ImgSystem
import ImgTransport
import ImgWire
import ImgWorkerMachine

/// The thread that gives pictures to the decoder, one at a time, and waits for it. It blocks for as
/// long as a picture takes, while the loop goes on. Previews are made by the spare decoder meanwhile.
/// Pictures that ended a decoder are tried once more after the others, see ``RepeatedDecodes``.
///
/// Its methods are for the thread of the loop.
final class DecodeThread {
  /// While no picture comes, the thread looks this often for decoders that have exited.
  private static let upkeepInterval = Duration.seconds(1)
  /// While a preview is being made, the thread looks this often for its end; while a picture waits for its
  /// second attempt, for a spare decoder.
  private static let shortInterval = Duration.milliseconds(10)
  /// Decoders whose ends the thread has not seen: at most the one in use, the spare, and one that each
  /// of them has replaced. More would come from a coordinator that makes them up, and are dropped.
  private static let exitCapacity = 16

  private let thread: ServiceThread<DecodeTask>
  private let exits: BlockingQueue<DecoderExit>
  /// Those of jobs whose ends the loop has not seen.
  private var cancellations: [LeaseID: Cancellation] = [:]

  /// - Parameters:
  ///   - capacity: jobs that may wait; the worker's credits keep within it.
  ///   - commands: gets what the coordinator is to do.
  ///   - inbox: gets one `decoded` event for each job, and one `previewed` event for each preview. The
  ///     thread does not hold the body any more.
  init(
    limits: Limits, requiresSandbox: Bool, reader: PictureReader, heartbeat: WorkerHeartbeat,
    capacity: Int, commands: Mailbox<DecoderCommand>, inbox: Mailbox<Input>
  ) throws(SystemError) {
    let exits = try BlockingQueue<DecoderExit>(capacity: Self.exitCapacity)
    self.exits = exits
    thread = try ServiceThread(name: "decode", capacity: capacity + 1) { queue in
      let decoders = DecoderPool(
        limits: limits, requiresSandbox: requiresSandbox, commands: commands, exits: exits)
      let decoder = PictureDecoder(
        reader: reader,
        factsReader: FactsReader(
          store: reader.store, files: reader.files,
          maximumByteCount: Int(limits.maxBodyByteCount)),
        decoders: decoders, limits: limits, heartbeat: heartbeat)
      let previews = PreviewDecoder(decoders: decoders)
      var repeats = RepeatedDecodes()
      // Before the first picture comes.
      guard decoders.refill() else { return }
      while var tasks = queue.take(
        upTo: 1,
        until: .now
          + (previews.isBusy || !repeats.isEmpty ? Self.shortInterval : Self.upkeepInterval))
      {
        if let job = repeats.next(isIdle: tasks.isEmpty, at: .now, hasSpare: decoders.hasReadySpare)
        {
          tasks.append(.picture(job))
        }
        // Taken out, so that the body is freed before the event says so.
        while !tasks.isEmpty {
          switch Self.result(of: tasks.removeFirst(), decoder, previews) {
          case .ended(let input): inbox.post(input)
          case .repeated(let job): repeats.append(job, at: .now)
          case .underWay: break
          case .noDecoder: return
          }
        }
        if let end = previews.takeEnd() { inbox.post(end) }
        if queue.count == 0 {
          guard decoders.refill() else { return }
        }
      }
    }
  }

  /// What came of a task.
  private enum TaskResult {
    case ended(Input)
    case repeated(DecodeJob)
    /// A preview is being made.
    case underWay
    /// None can be started.
    case noDecoder
  }

  private static func result(
    of task: DecodeTask, _ decoder: PictureDecoder, _ previews: PreviewDecoder
  ) -> TaskResult {
    switch task {
    case .picture(let job):
      switch decoder.result(of: job) {
      case .ended(let input): .ended(input)
      case .repeated(let job): .repeated(job)
      case .noDecoder: .noDecoder
      }
    case .preview(let job): previews.start(job).map(TaskResult.ended) ?? .underWay
    }
  }

  /// How many pictures wait.
  var waitingCount: Int { thread.queue.count }

  /// Urgent jobs come first, the newest of them before the others.
  func submit(_ job: DecodeJob) {
    cancellations[job.lease] = job.cancellation
    let isQueued = thread.queue.push(.picture(job), isFirst: job.isUrgent)
    precondition(isQueued, "the thread's queue holds all leases that the credits allow")
  }

  /// - Returns: `false` if the preview cannot be made now.
  func submit(_ job: PreviewJob) -> Bool {
    // A picture that waits is more urgent.
    thread.queue.count == 0 && thread.queue.push(.preview(job))
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
