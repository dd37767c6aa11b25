import ImgDecode
import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgTransport

/// A picture on its way to the decoder, for one lease.
struct DecodeJob: Sendable {
  let lease: LeaseID
  let source: DecodeSource
  let variant: Variant
  /// Whether somebody waits for it in person.
  let isUrgent: Bool
  /// A job that is cancelled when its turn comes is not decoded.
  let cancellation: Cancellation
}

/// What the decoder made of it; the decoder does not hold the body any more.
struct DecodeResult: Sendable {
  enum End: Sendable {
    /// - original: what it was made from, where that was in the store.
    /// - uploaded: what it was made from, where that was uploaded and is to be kept.
    case decoded(RenderedThumbnail, original: StoredThumbnail?, uploaded: [UInt8]?)
    case failed(Failure)
    /// Nobody waited any more when its turn came.
    case cancelled
    /// The original is not in the store any more, or is no picture.
    case gone
  }

  let lease: LeaseID
  let end: End
  /// Bytes of the file that was read for it; `nil` when it was none.
  var fileByteCount: Int?
  /// What the decoder took; `nil` where nothing was decoded.
  var time: Duration?
}

/// The one thread that decodes. One, so that when the process dies or hangs in a decoder, the board
/// names exactly one picture.
struct DecodeThread {
  private let thread: ServiceThread<DecodeJob>

  /// - Parameter capacity: jobs that may wait; the worker's credits keep within it.
  init(
    vips: VipsRuntime, limits: Limits, store: SharedStore, files: LocalFiles,
    board: WorkerHeartbeat, capacity: Int, results: Mailbox<DecodeResult>
  ) throws(SystemError) {
    let decoder = Decoder(
      thumbnailer: Thumbnailer(runtime: vips, limits: limits), limits: limits, store: store,
      files: files, board: board)
    thread = try ServiceThread(name: "decode", capacity: capacity) { queue in
      while var jobs = queue.take(upTo: 1) {
        // Taken out, so that the body is let go of before the result says so.
        while !jobs.isEmpty {
          // Also while it is read: a body that is larger than the memory ends the process, too.
          let (result, unusable) = board.withDecoding(of: jobs[0].lease) {
            decoder.result(of: jobs.removeFirst())
          }
          // Not while it is marked: the wait for another writer of the store is no picture's fault.
          if let unusable { decoder.remove(unusable) }
          results.post(result)
        }
      }
      vips.shutdownThread()
    }
  }

  /// How many pictures wait.
  var waitingCount: Int { thread.queue.count }

  /// Whoever waits in person comes first, the newest of them before the others.
  func submit(_ job: DecodeJob) {
    let isQueued = thread.queue.push(job, isFirst: job.isUrgent)
    precondition(isQueued, "the decoder's queue holds all leases that the credits allow")
  }
}

/// The thread's work.
private struct Decoder {
  let thumbnailer: Thumbnailer
  let limits: Limits
  let store: SharedStore
  let files: LocalFiles
  let board: WorkerHeartbeat

  /// - Returns: the result, and the original to be removed from the store because no thumbnail can be
  ///   made from it.
  func result(of job: DecodeJob) -> (DecodeResult, unusable: UnusableOriginal?) {
    guard !job.cancellation.isSet else { return (ended(job, .cancelled), nil) }
    if case .original(let key) = job.source { return result(of: job, original: key) }
    return (resultOfBody(job), nil)
  }

  func remove(_ original: UnusableOriginal) {
    _ = try? store.change { store throws(StoreError) in
      switch original {
      case .stale(let key, let now): _ = try store.removeStale([key], at: now)
      case .noPicture(let key): _ = try store.remove([key])
      }
    }
  }

  private func result(
    of job: DecodeJob, original key: ContentKey
  ) -> (DecodeResult, unusable: UnusableOriginal?) {
    let now = WallTime(rawValue: WallClock.milliseconds())
    let found = try? store.current().withThumbnail(
      key, at: now, recordingAccess: .none
    ) { facts, bytes in
      (facts, unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) })
    }
    guard let (original, bytes) = found else { return (ended(job, .gone), .stale(key, at: now)) }
    let result = decode(.memory(bytes), of: job, original: original)
    // It was a picture when it was kept. The next fetch will show what it is.
    if case .failed(let failure) = result.end, failure.isOfContent {
      return (ended(job, .gone), .noPicture(key))
    }
    return (result, nil)
  }

  private func resultOfBody(_ job: DecodeJob) -> DecodeResult {
    switch job.source {
    case .body(.memory(let bytes)):
      return decode(.memory(bytes), of: job)
    case .body(.file(let file, let byteCount)):
      do throws(SystemError) {
        let head = try file.contents(byteCount: min(byteCount, FormatSniffer.examinedByteCount))
        return decode(.file(descriptor: file.descriptor, head: head), of: job)
      } catch {
        return ended(
          job,
          .failed(
            Failure(stage: .fetch, code: .internal, detail: "the body cannot be read: \(error)")))
      }
    case .uploaded(let file, let byteCount, let isKept):
      let bytes: [UInt8]
      do throws(SystemError) {
        bytes = try file.contents(byteCount: byteCount)
      } catch {
        return ended(
          job,
          .failed(
            Failure(
              stage: .fetch, code: .internal, isRetryable: false,
              detail: "the picture that was uploaded cannot be read: \(error)")))
      }
      return decode(.memory(bytes), of: job, uploaded: isKept ? bytes : nil)
    case .file(let path):
      do throws(Failure) {
        let bytes = try files.contents(of: path)
        var result = decode(.memory(bytes), of: job)
        result.fileByteCount = bytes.count
        return result
      } catch {
        return ended(job, .failed(error))
      }
    case .original:
      preconditionFailure("an original is read from the store")
    }
  }

  private func ended(_ job: DecodeJob, _ end: DecodeResult.End) -> DecodeResult {
    DecodeResult(lease: job.lease, end: end)
  }

  private func decode(
    _ picture: EncodedPicture, of job: DecodeJob, original: StoredThumbnail? = nil,
    uploaded: [UInt8]? = nil
  ) -> DecodeResult {
    let began = ContinuousClock.now
    let end: DecodeResult.End
    do throws(Failure) {
      let rendered = try thumbnailer.thumbnail(of: picture, as: job.variant)
      end = .decoded(rendered, original: original, uploaded: uploaded)
    } catch {
      end = .failed(reason(for: error))
    }
    return DecodeResult(lease: job.lease, end: end, time: .now - began)
  }

  /// Many decoders say of memory that was refused that the picture is wrong.
  private func reason(for failure: Failure) -> Failure {
    switch failure.code {
    case .corruptImage, .unsupportedFormat, .internal:
      board.hasRefusedAllocation(within: limits)
        ? .outOfMemory(workerMemory: limits.workerMemoryByteCount) : failure
    default: failure
    }
  }
}

/// An original in the store that no thumbnail can be made from.
private enum UnusableOriginal {
  /// Damaged, or expired since it was looked up.
  case stale(ContentKey, at: WallTime)
  case noPicture(ContentKey)
}

extension Failure {
  /// Whether it says that the bytes are no picture, rather than one that goes beyond a limit.
  fileprivate var isOfContent: Bool {
    switch code {
    case .notAnImage, .unsupportedFormat, .corruptImage: true
    default: false
    }
  }
}
