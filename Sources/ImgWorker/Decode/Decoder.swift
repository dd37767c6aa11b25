import ImgDecode
import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgTransport
import ImgWorkerMachine

/// The work of the decode thread: from a job to its `decoded` event.
struct Decoder: Sendable {
  let thumbnailer: Thumbnailer
  let limits: Limits
  let store: SharedStore
  let files: LocalFiles
  let heartbeat: WorkerHeartbeat

  /// An original in the store that no thumbnail can be made from.
  enum UnusableOriginal {
    /// Damaged, or expired since it was looked up.
    case stale(ContentKey, at: WallTime)
    case notAnImage(ContentKey)
  }

  /// - Returns: the event, and the original to be removed from the store because no thumbnail can be
  ///   made from it.
  func result(of job: DecodeJob) -> (Input, unusable: UnusableOriginal?) {
    guard !job.cancellation.isSet else { return (ended(job, .cancelled), nil) }
    if case .original(let key) = job.input { return result(of: job, original: key) }
    return (resultOfBytes(job), nil)
  }

  func remove(_ original: UnusableOriginal) {
    _ = try? store.change { store throws(StoreError) in
      switch original {
      case .stale(let key, let now): _ = try store.removeStale([key], at: now)
      case .notAnImage(let key): _ = try store.remove([key])
      }
    }
  }

  private func ended(_ job: DecodeJob, _ end: DecodeEnd) -> Input {
    Input(.decoded(job.lease, end, time: nil))
  }

  // MARK: - From the store

  private func result(
    of job: DecodeJob, original key: ContentKey
  ) -> (Input, unusable: UnusableOriginal?) {
    let now = WallTime.now
    let found = try? store.current().withThumbnail(
      key, at: now, recordingAccess: .none
    ) { facts, bytes in
      (facts, unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) })
    }
    guard let (original, bytes) = found else {
      return (ended(job, .sourceMissing), .stale(key, at: now))
    }
    let result = decode(.memory(bytes), of: job, original: OriginalFacts(original))
    // It was an image when it was stored. The next fetch will show what it is.
    if case .decoded(_, .failed(let failure), _) = result.event, failure.isOfContent {
      return (ended(job, .sourceMissing), .notAnImage(key))
    }
    return (result, nil)
  }

  // MARK: - From bytes at hand

  private func resultOfBytes(_ job: DecodeJob) -> Input {
    do throws(Failure) {
      switch job.input {
      case .body(.memory(let bytes)): return decode(.memory(bytes), of: job)
      case .bytes(let bytes):
        return decode(.memory(bytes), of: job, localByteCount: bytes.count)
      case .body(.file(let file, let byteCount)):
        let head = try Self.reading("the body") { () throws(SystemError) in
          try file.contents(byteCount: min(byteCount, FormatSniffer.examinedByteCount))
        }
        return decode(.file(descriptor: file.descriptor, head: head), of: job)
      case .upload(let file, let byteCount, let isStored):
        let bytes = try Self.reading("the uploaded picture", isRetryable: false) {
          () throws(SystemError) in try file.contents(byteCount: byteCount)
        }
        return decode(.memory(bytes), of: job, upload: isStored ? bytes : nil)
      case .file(let path):
        let bytes = try files.contents(of: path)
        return decode(.memory(bytes), of: job, localByteCount: bytes.count)
      case .original:
        preconditionFailure("an original is read from the store")
      }
    } catch {
      return ended(job, .failed(error))
    }
  }

  private static func reading(
    _ what: String, isRetryable: Bool? = nil, _ body: () throws(SystemError) -> [UInt8]
  ) throws(Failure) -> [UInt8] {
    do throws(SystemError) {
      return try body()
    } catch {
      throw Failure(
        stage: .fetch, code: .internal, isRetryable: isRetryable,
        detail: "\(what) cannot be read: \(error)")
    }
  }

  private func decode(
    _ picture: EncodedPicture, of job: DecodeJob, original: OriginalFacts? = nil,
    upload: [UInt8]? = nil, localByteCount: Int? = nil
  ) -> Input {
    let began = ContinuousClock.now
    do throws(Failure) {
      let rendered = try thumbnailer.thumbnail(of: picture, as: job.variant)
      let decoded = DecodedPicture(
        thumbnail: rendered.thumbnail, source: rendered.source, original: original,
        localByteCount: localByteCount)
      return Input(
        .decoded(job.lease, .picture(decoded), time: .now - began),
        with: .thumbnail(rendered.bytes, upload: upload))
    } catch {
      return Input(.decoded(job.lease, .failed(reason(for: error)), time: .now - began))
    }
  }

  /// Many decoders report memory that was refused as a fault of the picture.
  private func reason(for failure: Failure) -> Failure {
    switch failure.code {
    case .corruptImage, .unsupportedFormat, .internal:
      heartbeat.hasRefusedAllocation(within: limits)
        ? .outOfMemory(workerMemory: limits.workerMemoryByteCount) : failure
    default: failure
    }
  }
}

extension OriginalFacts {
  init(_ stored: StoredThumbnail) {
    self.init(
      picture: stored.thumbnail, sourceByteCount: stored.sourceByteCount,
      storedAt: stored.storedAt, expiresAt: stored.expiresAt, terms: stored.terms)
  }
}

extension Failure {
  /// Whether it says that the bytes are not an image, rather than one beyond a limit.
  fileprivate var isOfContent: Bool {
    switch code {
    case .notAnImage, .unsupportedFormat, .corruptImage: true
    default: false
    }
  }
}
