import ImgDecode
import ImgSystem
import ImgTransport
import ImgWire

/// A body on its way to the decoder.
struct DecodeJob: Sendable {
  let lease: LeaseID
  let bytes: [UInt8]
  /// What the body counts against the transfer pool's budget.
  let heldByteCount: Int
  let variant: Variant
}

/// What the decoder made of it.
struct DecodeResult: Sendable {
  let lease: LeaseID
  let result: Result<RenderedThumbnail, Failure>
  /// What the body counted against the transfer pool's budget; its memory is free.
  let releasedByteCount: Int
}

/// The one thread that decodes. One, so that when the process dies or hangs in a decoder, the board
/// names exactly one picture.
struct DecodeThread {
  private let thread: ServiceThread<DecodeJob>

  /// - Parameter capacity: bodies that may wait; the worker's credits keep within it.
  init(
    vips: VipsRuntime, limits: Limits, board: WorkerBoard, capacity: Int,
    results: Mailbox<DecodeResult>
  ) throws(SystemError) {
    let thumbnailer = Thumbnailer(runtime: vips, limits: limits)
    thread = try ServiceThread(name: "decode", capacity: capacity) { queue in
      while var jobs = queue.take(upTo: 1) {
        // Taken out, so that the body is gone before the result says so.
        while !jobs.isEmpty {
          let result = Self.decode(jobs.removeFirst(), with: thumbnailer, board: board)
          results.post(result)
        }
      }
      vips.shutdownThread()
    }
  }

  func submit(_ job: DecodeJob) {
    let isQueued = thread.queue.push(job)
    precondition(isQueued, "the decoder's queue holds all fetches that the credits allow")
  }

  private static func decode(
    _ job: DecodeJob, with thumbnailer: Thumbnailer, board: WorkerBoard
  ) -> DecodeResult {
    let result = board.withDecoding(of: job.lease) {
      Result { () throws(Failure) in
        try thumbnailer.thumbnail(of: job.bytes, as: job.variant)
      }
    }
    return DecodeResult(lease: job.lease, result: result, releasedByteCount: job.heldByteCount)
  }
}
