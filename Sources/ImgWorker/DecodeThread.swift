import ImgDecode
import ImgSystem
import ImgTransport
import ImgWire

/// A body on its way to the decoder, for one lease.
struct DecodeJob: Sendable {
  let lease: LeaseID
  let bytes: [UInt8]
  let variant: Variant
  /// Whether somebody waits for it in person.
  let isUrgent: Bool
  /// A job that is cancelled when its turn comes is not decoded.
  let cancellation: Cancellation
}

/// What the decoder made of it; the decoder does not hold the body any more.
struct DecodeResult: Sendable {
  let lease: LeaseID
  /// `nil` when it was cancelled before its turn.
  let result: Result<RenderedThumbnail, Failure>?
}

/// The one thread that decodes. One, so that when the process dies or hangs in a decoder, the board
/// names exactly one picture.
struct DecodeThread {
  private let thread: ServiceThread<DecodeJob>

  /// - Parameter capacity: jobs that may wait; the worker's credits keep within it.
  init(
    vips: VipsRuntime, limits: Limits, board: WorkerBoard, capacity: Int,
    results: Mailbox<DecodeResult>
  ) throws(SystemError) {
    let thumbnailer = Thumbnailer(runtime: vips, limits: limits)
    thread = try ServiceThread(name: "decode", capacity: capacity) { queue in
      while var jobs = queue.take(upTo: 1) {
        // Taken out, so that the body is let go of before the result says so.
        while !jobs.isEmpty {
          let result = Self.decode(jobs.removeFirst(), with: thumbnailer, board: board)
          results.post(result)
        }
      }
      vips.shutdownThread()
    }
  }

  /// Whoever waits in person comes first, the newest of them before the others.
  func submit(_ job: DecodeJob) {
    let isQueued = thread.queue.push(job, isFirst: job.isUrgent)
    precondition(isQueued, "the decoder's queue holds all leases that the credits allow")
  }

  private static func decode(
    _ job: DecodeJob, with thumbnailer: Thumbnailer, board: WorkerBoard
  ) -> DecodeResult {
    guard !job.cancellation.isSet else { return DecodeResult(lease: job.lease, result: nil) }
    let result = board.withDecoding(of: job.lease) {
      Result { () throws(Failure) in
        try thumbnailer.thumbnail(of: job.bytes, as: job.variant)
      }
    }
    return DecodeResult(lease: job.lease, result: result)
  }
}
