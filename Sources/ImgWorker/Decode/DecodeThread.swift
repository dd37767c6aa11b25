import ImgFacts
import ImgFetch
import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import ImgWorkerMachine
import Synchronization

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
      let pictures = PictureDecoder(
        reader: reader,
        factsReader: FactsReader(
          store: reader.store, files: reader.files,
          maximumByteCount: Int(limits.maxBodyByteCount)),
        headerReader: HeaderReader(store: reader.store, files: reader.files, limits: limits),
        decoders: decoders, limits: limits, heartbeat: heartbeat)
      Self.serve(queue, pictures, PreviewDecoder(decoders: decoders), inbox)
    }
  }

  /// What the thread does until its queue is closed and empty, or no decoder can be started.
  private static func serve(
    _ queue: BlockingQueue<DecodeTask>, _ pictures: PictureDecoder, _ previews: PreviewDecoder,
    _ inbox: Mailbox<Input>
  ) {
    let decoders = pictures.decoders
    var repeats = RepeatedDecodes()
    // Before the first picture comes.
    guard decoders.refill() else { return }
    while var tasks = queue.take(
      upTo: 1,
      until: .now + (previews.isBusy || !repeats.isEmpty ? shortInterval : upkeepInterval))
    {
      if let job = repeats.next(isIdle: tasks.isEmpty, at: .now, hasSpare: decoders.hasReadySpare) {
        tasks.append(.picture(job))
      }
      // Taken out, so that the body is freed before the event says so.
      while !tasks.isEmpty {
        switch tasks.removeFirst() {
        case .preview(let job):
          if let end = previews.start(job) { inbox.post(end) }
        case .picture(let job):
          switch pictures.result(of: job) {
          case .ended(let input): inbox.post(input)
          case .repeated(let job): repeats.append(job, at: .now)
          case .noDecoder: return
          }
        }
      }
      if let end = previews.takeEnd() { inbox.post(end) }
      if queue.count == 0 {
        guard decoders.refill() else { return }
      }
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

/// What the decode thread has to do.
enum DecodeTask: Sendable {
  case picture(DecodeJob)
  case preview(PreviewJob)
}

/// A picture on its way to the decoder, for one lease.
struct DecodeJob: Sendable {
  let lease: LeaseID
  let source: PictureSource
  let variants: [Variant]
  /// What is read of its facts, if they are the result.
  let facts: FactsExtent?
  /// Whether a decoder adds to the facts what it computes from the pixels. It is asked in any case for a
  /// verdict that they do not tell.
  let describesPixels: Bool
  /// The media type that the origin declares.
  let declaredType: String?
  /// Whether a damaged picture is decoded as far as possible.
  let isLenient: Bool
  /// Whether a client waits for it.
  let isUrgent: Bool
  /// Whether the result is pixels in place of a thumbnail.
  var wantsPixels = false
  /// Whether the header of the picture is checked, and nothing is decoded.
  var readsHeaderAlone = false
  /// Those that ended with their decoders.
  var attempts = DecodeAttempts()
  /// A job that is cancelled before its turn is not decoded.
  let cancellation = Cancellation()
}

/// The bytes of a picture for the decoder, or the place to read them from.
enum PictureSource: Sendable {
  /// A body that came in.
  case body(BodyContent)
  /// The picture that a URL holds.
  case bytes([UInt8])
  /// The original in the store. It is read when its turn comes, so that pictures that wait take no
  /// memory.
  case original(ContentKey)
  /// A file of this machine, at an absolute path; read when its turn comes, like an original.
  case file(String)
  /// What a client uploaded; read when its turn comes, like an original.
  ///
  /// - isStored: whether its bytes are wanted with the result.
  case upload(MemoryFile, byteCount: Int, isStored: Bool)

  /// The file that the URL names, or the picture that it holds.
  ///
  /// - Parameter byteCount: the most that the picture may have.
  /// - Returns: `nil` for a URL that is of an origin.
  /// - Throws: a ``Failure`` with code `invalid_url` or `too_large`.
  init?(_ url: ImageURL, upTo byteCount: Int) throws(Failure) {
    if let path = try FileURL.path(of: url.text) {
      self = .file(path)
      return
    }
    guard let bytes = try DataURL.contents(of: url) else { return nil }
    guard bytes.count <= byteCount else {
      throw Failure(
        stage: .fetch, code: .tooLarge,
        detail: "the data: URL holds \(bytes.count) bytes; \(byteCount) are the most")
    }
    self = .bytes(bytes)
  }
}

extension PictureSource {
  /// The file that a client uploaded, if its bytes are wanted with the result.
  var storedUpload: MemoryFile? {
    if case .upload(let file, _, isStored: true) = self { file } else { nil }
  }
}

/// Tells other threads that a piece of work was cancelled. Once set, it stays.
final class Cancellation: Sendable {
  private let flag = Atomic(false)

  var isSet: Bool { flag.load(ordering: .relaxed) }

  func set() {
    flag.store(true, ordering: .relaxed)
  }
}

/// The work of the decode thread: from a job to its `decoded` event, by way of a decoder process.
struct PictureDecoder {
  let reader: PictureReader
  let factsReader: FactsReader
  let headerReader: HeaderReader
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
    do throws(Interruption) {
      if job.readsHeaderAlone { return .ended(try header(of: job)) }
      guard let extent = job.facts else { return .ended(try thumbnails(of: job)) }
      return .ended(try facts(of: job, extent))
    } catch {
      switch error {
      case .failed(let failure): return .ended(input(job, .failed(failure)))
      case .cancelled: return .ended(input(job, .cancelled))
      case .repeated(let job): return .repeated(job)
      case .noDecoder: return .noDecoder
      }
    }
  }

  /// Why no decoder has made anything of a picture.
  private enum Interruption: Error {
    /// The decoders ended with it.
    case failed(Failure)
    case cancelled
    case repeated(DecodeJob)
    case noDecoder
  }

  /// Has a decoder work on a picture, or several one after the other.
  private func attempt<Value>(
    _ job: DecodeJob, _ work: (DecoderProcess) throws(DecoderFault) -> Value
  ) throws(Interruption) -> Value {
    var job = job
    while !job.cancellation.isSet {
      guard let decoder = decoders.takeReady() else { throw .noDecoder }
      let began = ContinuousClock.now
      do throws(DecoderFault) {
        return try work(decoder)
      } catch {
        let end = decoders.end(decoder, after: error)
        if let failure = job.attempts.failure(after: end, time: .now - began, within: limits) {
          throw .failed(failure)
        }
        guard end == .killed else { throw .repeated(job) }
      }
    }
    throw .cancelled
  }

  // MARK: - The header

  private func header(of job: DecodeJob) throws(Interruption) -> Input {
    guard !job.cancellation.isSet else { throw .cancelled }
    let reading = heartbeat.withReading(of: job.lease) {
      Result { () throws(Failure) in try headerReader.picture(of: job.source) }
    }
    switch reading {
    case .success(let picture?):
      return Input(
        .decoded(job.lease, .picture(picture), time: nil),
        with: .thumbnails([], upload: job.source.storedUpload))
    case .success(nil): return input(job, .sourceMissing)
    case .failure(let failure): return input(job, .failed(failure))
    }
  }

  // MARK: - Facts

  private func facts(
    of job: DecodeJob, _ extent: FactsExtent
  ) throws(Interruption) -> Input {
    guard !job.cancellation.isSet else { throw .cancelled }
    let reading = heartbeat.withReading(of: job.lease) {
      Result { () throws(Failure) in try factsReader.reading(of: job.source, extent) }
    }
    switch reading {
    case .success(let reading?):
      return job.describesPixels || reading.record.awaitsDecoder
        ? try pixelFacts(of: job, after: reading) : Input(job.lease, factsOf: reading)
    case .success(nil):
      removeOriginal(of: job, ifStaleAt: .now)
      return input(job, .sourceMissing)
    case .failure(let failure): return input(job, .failed(failure))
    }
  }

  /// Adds what the pixels tell, or the reason why they tell nothing. A failure that passes is no fact:
  /// the request fails with it.
  private func pixelFacts(
    of job: DecodeJob, after reading: FactsReader.Reading
  ) throws(Interruption) -> Input {
    let began = ContinuousClock.now
    let answer: Result<PictureDescription?, Failure>
    do throws(Interruption) {
      answer = try attempt(job) { (decoder) throws(DecoderFault) in
        try description(of: job, by: decoder)
      }
    } catch {
      guard case .failed(let failure) = error else { throw error }
      answer = .failure(failure)
    }
    let described: Result<PictureDescription, Failure>
    switch answer {
    case .success(nil): return input(job, .sourceMissing)
    case .failure(let failure) where failure.isRetryable: return input(job, .failed(failure))
    case .success(let description?): described = .success(description)
    case .failure(let failure): described = .failure(failure)
    }
    var reading = reading
    reading.record = reading.record.with(
      described, showsPixels: job.describesPixels, declaredType: job.declaredType)
    return Input(job.lease, factsOf: reading, time: .now - began)
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

  private func thumbnails(of job: DecodeJob) throws(Interruption) -> Input {
    try attempt(job) { (decoder) throws(DecoderFault) in
      switch read(job, for: decoder) {
      case .failure(let failure): return input(job, .failed(failure))
      case .success(nil):
        removeOriginal(of: job, ifStaleAt: .now)
        return input(job, .sourceMissing)
      case .success(let picture?): return try thumbnails(of: job, from: picture, by: decoder)
      }
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

  private func thumbnails(
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
      if let original = picture.original, !original.isUndecoded, failure.isOfContent {
        removeOriginal(of: job, ifStaleAt: nil)
        return input(job, .sourceMissing)
      }
      return Input(.decoded(job.lease, .failed(failure), time: time))
    }
  }

  private func input(_ job: DecodeJob, _ end: DecodeEnd) -> Input {
    Input(.decoded(job.lease, end, time: nil))
  }

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

/// The attempts to decode one picture.
///
/// A decoder that dies over a picture may have died of something else, so the picture is tried once
/// more, after the others that wait (see ``RepeatedDecodes``). SIGKILL from outside is hardly ever a picture's
/// fault, so it is tried more often after that, and at once. The attempts together take no longer than two
/// decodes may: then the coordinator would take the worker for hung.
struct DecodeAttempts: Sendable {
  private static let deathMaximum = 2
  private static let killMaximum = 5

  private var deathCount = 0
  private var killCount = 0
  private var time = Duration.zero

  /// Counts an attempt that ended with its decoder.
  ///
  /// - Parameter attemptTime: how long it took.
  /// - Returns: what the picture fails with; `nil` if it is tried again.
  mutating func failure(
    after end: DecoderEnd, time attemptTime: Duration, within limits: Limits
  ) -> Failure? {
    time += attemptTime
    if end == .killed { killCount += 1 } else { deathCount += 1 }
    let isLate = deathCount + killCount > 1 && time >= limits.decodeTimeout
    guard isLate || deathCount >= Self.deathMaximum || killCount >= Self.killMaximum else {
      return nil
    }
    return switch end {
    case .crashed(let how):
      Failure(stage: .decode, code: .decodeCrash, detail: "the decoder \(how)")
    case .timedOut(let what): Failure(stage: .decode, code: .decodeTimeout, detail: what)
    case .outOfMemory: .outOfMemory(decoderMemory: limits.decoderMemoryByteCount)
    case .killed:
      Failure(
        stage: .decode, code: .outOfMemory,
        detail: "SIGKILL ended \(killCount) decoders with this picture; "
          + "the machine may have no memory left")
    }
  }
}
