import ImgDecode
import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgTransport
import ImgWorkerMachine

/// A picture on its way to the decoder, for one lease.
struct DecodeJob: Sendable {
  let lease: LeaseID
  let input: DecodeInput
  let variant: Variant
  /// Whether a client waits for it.
  let isUrgent: Bool
  /// A job that is cancelled before its turn is not decoded.
  let cancellation = Cancellation()
}

/// The one thread that decodes. One, so that when the process dies or hangs in a decoder, the
/// heartbeat page names exactly one picture.
///
/// Its methods are for the thread of the loop.
final class DecodeThread {
  private let thread: ServiceThread<DecodeJob>
  /// Those of jobs whose ends the loop has not seen.
  private var cancellations: [LeaseID: Cancellation] = [:]

  /// - Parameters:
  ///   - capacity: jobs that may wait; the worker's credits keep within it.
  ///   - inbox: gets one `decoded` event for each job. The decoder does not hold the body any more.
  init(
    vips: VipsRuntime, limits: Limits, store: SharedStore, files: LocalFiles,
    heartbeat: WorkerHeartbeat,
    capacity: Int, inbox: Mailbox<Input>
  ) throws(SystemError) {
    let decoder = Decoder(
      thumbnailer: Thumbnailer(runtime: vips, limits: limits), limits: limits, store: store,
      files: files, heartbeat: heartbeat)
    thread = try ServiceThread(name: "decode", capacity: capacity) { queue in
      while var jobs = queue.take(upTo: 1) {
        // Taken out, so that the body is freed before the event says so.
        while !jobs.isEmpty {
          // Also while it is read: a body that is larger than the memory ends the process, too.
          let (result, unusable) = heartbeat.withDecoding(of: jobs[0].lease) {
            decoder.result(of: jobs.removeFirst())
          }
          // Not while it is marked: the wait for another writer of the store is no picture's fault.
          if let unusable { decoder.remove(unusable) }
          inbox.post(result)
        }
      }
      vips.shutdownThread()
    }
  }

  /// How many pictures wait.
  var waitingCount: Int { thread.queue.count }

  /// Urgent jobs come first, the newest of them before the others.
  func submit(_ job: DecodeJob) {
    cancellations[job.lease] = job.cancellation
    let isQueued = thread.queue.push(job, isFirst: job.isUrgent)
    precondition(isQueued, "the decoder's queue holds all leases that the credits allow")
  }

  /// Skips the job of the lease if its turn has not come.
  func cancel(_ lease: LeaseID) {
    cancellations[lease]?.set()
  }

  /// The loop has seen the end of the job.
  func finished(_ lease: LeaseID) {
    cancellations[lease] = nil
  }
}
