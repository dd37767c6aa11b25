import ImgFacts
import ImgModel
import ImgStore
import ImgSystem
import ImgTransport
import ImgWire
import ImgWorkerMachine

/// The work of the decode thread: from a job to its `decoded` event, by way of a decoder process.
struct PictureDecoder {
  let reader: PictureReader
  let factsReader: FactsReader
  let decoders: DecoderPool
  let limits: Limits
  let heartbeat: WorkerHeartbeat

  /// What came of a job.
  enum JobResult {
    case ended(Input)
    /// A decoder ended with its picture, which is tried once more.
    case repeated(DecodeJob)
    /// No decoder can be started.
    case noDecoder
  }

  func result(of job: DecodeJob) -> JobResult {
    if let extent = job.facts { return facts(of: job, extent) }
    let end = attempt(job) { (decoder) throws(DecoderFault) in try result(of: job, by: decoder) }
    switch end {
    case .made(let input): return .ended(input)
    case .failed(let failure): return ended(job, .failed(failure))
    case .repeated(let job): return .repeated(job)
    case .cancelled: return ended(job, .cancelled)
    case .noDecoder: return .noDecoder
    }
  }

  /// What came of a picture on which several decoders may have been tried.
  private enum Attempt<Value> {
    case made(Value)
    /// The decoders ended with it.
    case failed(Failure)
    case repeated(DecodeJob)
    case cancelled
    case noDecoder
  }

  private func attempt<Value>(
    _ job: DecodeJob, _ work: (DecoderProcess) throws(DecoderFault) -> Value
  ) -> Attempt<Value> {
    var job = job
    while !job.cancellation.isSet {
      guard let decoder = decoders.takeReady() else { return .noDecoder }
      let began = ContinuousClock.now
      do throws(DecoderFault) {
        return .made(try work(decoder))
      } catch {
        let end = decoders.end(decoder, after: error)
        if let failure = job.attempts.failure(after: end, time: .now - began, within: limits) {
          return .failed(failure)
        }
        guard end == .killed else { return .repeated(job) }
      }
    }
    return .cancelled
  }

  // MARK: - Facts

  private func facts(of job: DecodeJob, _ extent: FactsExtent) -> JobResult {
    guard !job.cancellation.isSet else { return ended(job, .cancelled) }
    let reading = heartbeat.withReading(of: job.lease) {
      Result { () throws(Failure) in try factsReader.reading(of: job.source, extent) }
    }
    switch reading {
    case .success(let reading?):
      return job.describesPixels
        ? pixelFacts(of: job, after: reading) : .ended(Input(job.lease, factsOf: reading))
    case .success(nil):
      removeOriginal(of: job, ifStaleAt: .now)
      return ended(job, .sourceMissing)
    case .failure(let failure): return ended(job, .failed(failure))
    }
  }

  /// Adds what the pixels tell, or the reason why they tell nothing. A failure that passes is no fact:
  /// the request fails with it.
  private func pixelFacts(of job: DecodeJob, after reading: FactsReader.Reading) -> JobResult {
    let began = ContinuousClock.now
    let end = attempt(job) { (decoder) throws(DecoderFault) in
      try description(of: job, by: decoder)
    }
    let described: Result<PictureDescription, Failure>
    switch end {
    case .made(.success(nil)): return ended(job, .sourceMissing)
    case .made(.success(let description?)): described = .success(description)
    case .made(.failure(let failure)), .failed(let failure): described = .failure(failure)
    case .repeated(let job): return .repeated(job)
    case .cancelled: return ended(job, .cancelled)
    case .noDecoder: return .noDecoder
    }
    if case .failure(let failure) = described, failure.isRetryable {
      return ended(job, .failed(failure))
    }
    var reading = reading
    reading.record = reading.record.with(described, declaredType: job.declaredType)
    return .ended(Input(job.lease, factsOf: reading, time: .now - began))
  }

  /// - Returns: `nil` if the original is not in the store.
  private func description(
    of job: DecodeJob, by decoder: DecoderProcess
  ) throws(DecoderFault) -> Result<PictureDescription?, Failure> {
    switch read(job, for: decoder) {
    case .failure(let failure): return .failure(failure)
    case .success(nil): return .success(nil)
    case .success(let picture?):
      return try decoder.describe(byteCount: picture.byteCount).map { $0 }
    }
  }

  // MARK: - Thumbnails

  /// - Throws: a ``DecoderFault`` if the attempt ended with its decoder.
  private func result(
    of job: DecodeJob, by decoder: DecoderProcess
  ) throws(DecoderFault) -> Input {
    switch read(job, for: decoder) {
    case .failure(let failure): return input(job, .failed(failure))
    case .success(nil):
      removeOriginal(of: job, ifStaleAt: .now)
      return input(job, .sourceMissing)
    case .success(let picture?): return try result(of: job, from: picture, by: decoder)
    }
  }

  private func read(
    _ job: DecodeJob, for decoder: DecoderProcess
  ) -> Result<PictureReader.Picture?, Failure> {
    // It may hang, and so may the store while another process holds its lock.
    heartbeat.withReading(of: job.lease) {
      Result { () throws(Failure) in
        try reader.put(job.source, isLenient: job.isLenient, into: decoder.picture)
      }
    }
  }

  private func result(
    of job: DecodeJob, from picture: PictureReader.Picture, by decoder: DecoderProcess
  ) throws(DecoderFault) -> Input {
    let began = ContinuousClock.now
    let answer = try decoder.decode(
      byteCount: picture.byteCount, as: job.variants, isLenient: job.isLenient,
      output: job.wantsPixels ? .pixels : .thumbnails)
    let time = ContinuousClock.now - began
    switch answer {
    case .success(let made):
      let decoded = DecodedPicture(
        thumbnail: made.thumbnails[0], otherThumbnails: Array(made.thumbnails.dropFirst()),
        source: made.source, thumbHash: made.thumbHash, original: picture.original,
        localByteCount: picture.localByteCount)
      return Input(
        .decoded(job.lease, .picture(decoded), time: time),
        with: .thumbnails(made.bytes, upload: picture.upload))
    case .failure(let failure):
      // It was an image when it was stored. The next fetch will show what it is.
      if picture.original != nil, failure.isOfContent {
        removeOriginal(of: job, ifStaleAt: nil)
        return input(job, .sourceMissing)
      }
      return Input(.decoded(job.lease, .failed(failure), time: time))
    }
  }

  private func input(_ job: DecodeJob, _ end: DecodeEnd) -> Input {
    Input(.decoded(job.lease, end, time: nil))
  }

  private func ended(_ job: DecodeJob, _ end: DecodeEnd) -> JobResult { .ended(input(job, end)) }

  /// Removes an original that no thumbnail can be made from.
  ///
  /// - Parameter now: `nil` to remove it even if it is neither damaged nor expired.
  private func removeOriginal(of job: DecodeJob, ifStaleAt now: WallTime?) {
    guard case .original(let key) = job.source else { return }
    _ = try? reader.store.change { store throws(StoreError) in
      if let now {
        _ = try store.removeStale([key], at: now)
      } else {
        _ = try store.remove([key])
      }
    }
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
