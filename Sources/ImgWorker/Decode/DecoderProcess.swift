import Glibc
import ImgFacts
import ImgModel
import ImgSystem
import ImgWire
import ImgWorkerMachine

/// One decoder process as its worker sees it: the connection, and the memory that both share. Belongs
/// to the decode thread.
final class DecoderProcess {
  /// How long a decoder may take to start. It loads about a hundred libraries.
  private static let startTime = Duration.seconds(30)
  /// A decoder ends itself at the limit of time. This much later the worker does: the decoder may have
  /// been stopped, or its timers.
  private static let grace = Duration.milliseconds(250)
  /// The memory of larger pictures is given back after their decode. A page that stays costs nothing
  /// when it is written again.
  private static let keptPictureByteCount = 1 << 20
  private static let keptThumbnailByteCount = 1 << 20
  /// After so many pictures a decoder is replaced: memory that a library has lost goes back to the
  /// machine, and a picture that took over the decoder has it no longer. A start costs as much time
  /// as about ten photographs.
  private static let maximumPictureCount: UInt64 = 1_000
  /// A decoder without a picture gives memory back, which takes less processor time than this.
  private static let maximumIdleTime = Duration.seconds(1)

  let id: DecoderID
  /// The clock of the process, which it names before it sees a picture; `nil` until then.
  private var clock: ProcessClock?
  /// Its processor time when it had answered last.
  private var answeredTime = Duration.zero
  /// Where the next picture is put.
  private(set) var picture: PictureMemory
  private let thumbnail: ThumbnailMemory
  private let channel: Channel<DecoderReport, DecoderOrder>
  private let limits: Limits
  /// The number of the last picture.
  private var pictureCount: UInt64 = 0
  private var previewBegan = ContinuousClock.now
  private let startDeadline = ContinuousClock.now + startTime

  /// Asks for a process. It finds its first messages when it starts.
  init(
    _ id: DecoderID, limits: Limits, requiresSandbox: Bool, commands: Mailbox<DecoderCommand>
  ) throws {
    self.id = id
    self.limits = limits
    picture = try PictureMemory(maximumByteCount: Int(limits.maxBodyByteCount))
    thumbnail = try ThumbnailMemory(maximumByteCount: Int(limits.maxThumbnailByteCount))
    var pair = try UnixSocket.pair()
    channel = try Channel(pair.takeFirst())
    try channel.send(
      .start(limits, requiresSandbox: requiresSandbox), with: thumbnail.file)
    try channel.send(.input, with: picture.file)
    commands.post(.start(id, channel: PassedFile(adopting: pair.takeSecond())))
  }

  /// Whether an allocation was refused since the last picture began.
  var wasRefusedMemory: Bool { thumbnail.hasRefusedAllocation(within: limits) }

  private(set) var isReady = false

  /// The processor time that it has used since its last answer, if that is more than a decoder without
  /// a picture needs: a picture may have taken it over.
  var idleTimeInExcess: Duration? {
    guard let time = processorTime, time - answeredTime > Self.maximumIdleTime else { return nil }
    return time - answeredTime
  }

  private var processorTime: Duration? { clock?.time }

  /// Whether it has decoded as many pictures as one decoder may.
  var isSpent: Bool { pictureCount >= Self.maximumPictureCount }

  /// Waits until the decoder is locked and takes pictures.
  ///
  /// - Parameter deadline: `nil` for as long as a decoder may take to start.
  /// - Returns: what confines it; `nil` if it is not ready at the deadline.
  func waitUntilReady(
    until deadline: ContinuousClock.Instant?
  ) throws(DecoderFault) -> SandboxReport? {
    let report: DecoderReport
    do throws(DecoderFault) {
      report = try nextReport(
        until: min(deadline ?? startDeadline, startDeadline),
        "the start of the decoder took too long")
    } catch {
      guard case .timedOut = error, .now < startDeadline else { throw error }
      return nil
    }
    switch report {
    case .ready(let processID, let sandbox):
      isReady = true
      clock = ProcessClock(ofProcess: processID)
      answeredTime = processorTime ?? .zero
      return sandbox
    case .refused(let refusal): throw .refused(refusal)
    case .decoded, .described, .failed: throw .misbehaved("answered before it was asked")
    }
  }

  /// Has the picture in ``picture`` decoded, and clears that memory.
  ///
  /// - Parameter isLenient: whether a damaged picture is decoded as far as possible.
  /// - Throws: a ``DecoderFault`` if this decoder can no longer be used.
  func decode(
    byteCount: Int, as variants: [Variant], isLenient: Bool,
    output: DecodeRequest.Output = .thumbnails
  ) throws(DecoderFault) -> Result<CheckedThumbnails, Failure> {
    let answer = try answer { picture in
      .decode(
        DecodeRequest(
          picture: picture, variants: variants, isLenient: isLenient, output: output,
          byteCount: byteCount))
    }
    return try thumbnails(
      answer, byteCount: byteCount, as: variants, isLenient: isLenient, output)
  }

  private func thumbnails(
    _ answer: DecoderReport, byteCount: Int, as variants: [Variant], isLenient: Bool,
    _ output: DecodeRequest.Output
  ) throws(DecoderFault) -> Result<CheckedThumbnails, Failure> {
    switch answer {
    case .decoded(let facts, pictureCount):
      let checked = try CheckedThumbnails(
        facts, of: pictureFormat(byteCount: byteCount), as: variants, isLenient: isLenient,
        output, in: thumbnail, within: limits)
      releaseMemory(
        pictureByteCount: byteCount, thumbnailByteCount: checked.bytes.map(\.count).reduce(0, +))
      return .success(checked)
    default: return .failure(try failure(answer, byteCount: byteCount))
    }
  }

  /// Has the pixels of the picture in ``picture`` described, and clears that memory.
  ///
  /// - Throws: a ``DecoderFault`` if this decoder can no longer be used.
  func describe(byteCount: Int) throws(DecoderFault) -> Result<PictureDescription, Failure> {
    let answer = try answer { .describe(picture: $0, byteCount: byteCount) }
    switch answer {
    case .described(let description, pictureCount):
      releaseMemory(pictureByteCount: byteCount, thumbnailByteCount: 0)
      return .success(description)
    default: return .failure(try failure(answer, byteCount: byteCount))
    }
  }

  /// Asks for the next picture.
  ///
  /// - Parameter order: gets the number of the picture.
  private func answer(
    to order: (UInt64) -> DecoderOrder
  ) throws(DecoderFault) -> DecoderReport {
    let began = ContinuousClock.now
    try send(order)
    return try report(since: began)
  }

  private func send(_ order: (UInt64) -> DecoderOrder) throws(DecoderFault) {
    thumbnail.beginPicture()
    pictureCount += 1
    try rethrowing(try channel.send(order(pictureCount))) { (error: ChannelError) in
      Self.fault(error, "the decoder took no picture")
    }
  }

  /// What a picture fails with, if it was not made what it should.
  private func failure(
    _ answer: DecoderReport, byteCount: Int
  ) throws(DecoderFault) -> Failure {
    switch answer {
    case .failed(let failure, pictureCount):
      let checked = try Failure(reportedByDecoder: failure)
      // Pictures before this one may have taken the memory.
      guard checked.code != .outOfMemory else { throw .outOfMemory }
      releaseMemory(pictureByteCount: byteCount, thumbnailByteCount: 0)
      return checked
    case .decoded, .described, .failed:
      throw .misbehaved("answered for another picture, or not what it was asked")
    case .ready, .refused: throw .misbehaved("said twice whether it is ready")
    }
  }

  // MARK: - Previews

  /// Takes the part of a picture that has arrived.
  ///
  /// - Returns: its size; `nil` if it does not fit, or cannot be read.
  /// - Throws: a ``DecoderFault`` if this decoder can no longer be used.
  func take(_ part: ArrivedPart) throws(DecoderFault) -> Int? {
    switch part {
    case .file(let file, let byteCount):
      guard byteCount <= picture.maximumByteCount else { return nil }
      return try? picture.put(contentsOf: file.descriptor, upTo: byteCount)
    case .memory(let memory, let byteCount):
      try rethrowing(try channel.send(.input, with: memory.file)) { (error: ChannelError) in
        Self.fault(error, "the decoder took no picture")
      }
      picture = memory
      return byteCount
    }
  }

  /// Whether the picture can be shown.
  ///
  /// - Parameter byteCount: of all that was taken.
  func prospect(byteCount: Int, for order: PreviewOrder) -> PreviewProspect {
    picture.withPicture(byteCount: byteCount) {
      PreviewProspect(
        of: $0, shownByteCount: order.shownByteCount, includingRows: order.includesRows)
    }
  }

  /// Clears the memory of a picture that is not decoded.
  func drop(byteCount: Int) {
    releaseMemory(pictureByteCount: byteCount, thumbnailByteCount: 0)
  }

  /// Asks for a preview of the first bytes; ``previewAnswer(byteCount:as:)`` has the answer.
  func startPreview(byteCount: Int, as variant: Variant) throws(DecoderFault) {
    previewBegan = .now
    try send { picture in
      .decode(
        DecodeRequest(
          picture: picture, variants: [variant], isLenient: false, output: .preview,
          byteCount: byteCount))
    }
  }

  /// - Parameter byteCount: of all that was taken.
  /// - Returns: `nil` if the decoder has not answered.
  /// - Throws: a ``DecoderFault`` if this decoder can no longer be used.
  func previewAnswer(
    byteCount: Int, as variant: Variant
  ) throws(DecoderFault) -> Result<CheckedThumbnails, Failure>? {
    let report: DecoderReport
    do throws(DecoderFault) {
      report = try nextReport(until: .now, "the preview took too long")
    } catch {
      let time = thumbnail.isInHeader ? limits.headerTimeout : limits.decodeTimeout
      guard case .timedOut = error, .now < previewBegan + time + Self.grace else { throw error }
      return nil
    }
    return try thumbnails(
      report, byteCount: byteCount, as: [variant], isLenient: false, .preview)
  }

  private func pictureFormat(byteCount: Int) -> ImageFormat? {
    // Nearly always the first bytes tell, so that few are copied.
    for examinedByteCount in [FormatSniffer.rejectedByteCount, FormatSniffer.examinedByteCount] {
      let head = picture.withPicture(byteCount: byteCount) { bytes in
        let examined = bytes.extracting(first: examinedByteCount)
        return unsafe examined.withUnsafeBufferPointer { unsafe Array($0) }
      }
      if case .picture(let format) = FormatSniffer.sniff(head) { return format }
    }
    return nil
  }

  /// Waits for the answer: for a short time for the header, and longer for the pixels.
  private func report(since began: ContinuousClock.Instant) throws(DecoderFault) -> DecoderReport {
    let grace = Self.grace
    do throws(DecoderFault) {
      return try nextReport(
        until: began + limits.headerTimeout + grace,
        "reading the header took longer than \(limits.headerTimeout)")
    } catch {
      guard case .timedOut = error, !thumbnail.isInHeader else { throw error }
    }
    return try nextReport(
      until: began + limits.decodeTimeout + grace,
      "decoding took longer than \(limits.decodeTimeout)")
  }

  private func nextReport(
    until deadline: ContinuousClock.Instant, _ lateText: String
  ) throws(DecoderFault) -> DecoderReport {
    do throws(ChannelError) {
      let report = try channel.next(until: deadline)
      answeredTime = processorTime ?? answeredTime
      return report
    } catch {
      throw Self.fault(error, lateText)
    }
  }

  private static func fault(_ error: ChannelError, _ lateText: String) -> DecoderFault {
    switch error {
    case .closed, .system: .closed
    case .timedOut: .timedOut(lateText)
    case .framing, .message, .passedFile, .peerDoesNotRead:
      .misbehaved("sent no valid message: \(error)")
    }
  }

  /// Leaves nothing of the picture behind: a library that reads past the end of the next picture must
  /// not draw this one. The input memory is sealed, so that of a large picture is replaced.
  private func releaseMemory(pictureByteCount: Int, thumbnailByteCount: Int) {
    if thumbnailByteCount > Self.keptThumbnailByteCount { try? thumbnail.releaseThumbnail() }
    guard pictureByteCount > Self.keptPictureByteCount,
      let fresh = try? PictureMemory(maximumByteCount: picture.maximumByteCount),
      // A decoder that does not take it shows that with its next picture.
      (try? channel.send(.input, with: fresh.file)) != nil
    else { return picture.clear(byteCount: pictureByteCount) }
    picture = fresh
  }
}

/// The thumbnails that a decoder made, and their source. The picture may control the decoder, so the
/// bytes are copied out of its memory first, and then all that is said of them is checked.
struct CheckedThumbnails {
  /// In the order of the variants.
  let thumbnails: [Thumbnail]
  let source: SourceFacts
  /// Its form was checked when it was received. What it shows is not known.
  let thumbHash: ThumbHash
  /// Of each thumbnail.
  let bytes: [[UInt8]]

  /// - Parameters:
  ///   - sourceFormat: what the worker itself takes the picture for.
  ///   - isLenient: whether the decoder was asked to accept damage.
  ///   - output: what the decoder was asked for.
  /// - Throws: a ``DecoderFault`` if no decoder says that.
  init(
    _ facts: RenderedFacts, of sourceFormat: ImageFormat?, as variants: [Variant],
    isLenient: Bool, _ output: DecodeRequest.Output, in memory: ThumbnailMemory,
    within limits: Limits
  ) throws(DecoderFault) {
    guard facts.thumbnails.count == variants.count else {
      throw .misbehaved("made another number of thumbnails than was requested")
    }
    var bytes: [[UInt8]] = []
    var offset = 0
    for (thumbnail, variant) in zip(facts.thumbnails, variants) {
      let made = try Self.bytes(
        of: thumbnail, as: variant, isLenient: isLenient, in: memory, at: offset)
      if output == .pixels {
        try Self.checkPixels(thumbnail, of: facts.source)
      } else {
        try Self.checkEncoding(thumbnail, made, as: variant)
      }
      bytes.append(made)
      offset += thumbnail.byteCount
    }
    let source = facts.source
    guard source.format == sourceFormat else {
      throw .misbehaved("took the picture for another format")
    }
    let (pixels, isOverflow) = Int64(source.width).multipliedReportingOverflow(
      by: Int64(source.height))
    guard source.width > 0, source.height > 0, source.frames > 0, !isOverflow,
      pixels <= limits.maxPixels, source.frames <= limits.maxFrames
    else { throw .misbehaved("announced a picture of impossible size") }
    thumbnails = facts.thumbnails
    self.source = source
    thumbHash = facts.thumbHash
    self.bytes = bytes
  }

  private static func bytes(
    of thumbnail: Thumbnail, as variant: Variant, isLenient: Bool, in memory: ThumbnailMemory,
    at offset: Int
  ) throws(DecoderFault) -> [UInt8] {
    guard let bytes = memory.thumbnail(byteCount: thumbnail.byteCount, at: offset) else {
      throw .misbehaved("announced a thumbnail of \(thumbnail.byteCount) bytes")
    }
    let (widths, heights) = variant.thumbnailSides
    guard widths.contains(thumbnail.width), heights.contains(thumbnail.height) else {
      throw .misbehaved("announced a thumbnail of impossible size")
    }
    guard thumbnail.answers(isLenient: isLenient) else {
      throw .misbehaved("made a thumbnail of a damaged picture unasked")
    }
    return bytes
  }

  private static func checkEncoding(
    _ thumbnail: Thumbnail, _ bytes: [UInt8], as variant: Variant
  ) throws(DecoderFault) {
    guard variant.value.admits(thumbnail.format) else {
      throw .misbehaved("made a thumbnail of another format than was requested")
    }
    guard FormatSniffer.sniff(bytes) == .picture(thumbnail.format) else {
      throw .misbehaved("made a thumbnail that is not a picture of the announced format")
    }
  }

  /// The sides were checked: their product is no overflow.
  private static func checkPixels(
    _ pixels: Thumbnail, of source: SourceFacts
  ) throws(DecoderFault) {
    guard pixels.format == source.format else {
      throw .misbehaved("announced pixels of another format than the picture's")
    }
    guard pixels.byteCount == DecodeRequest.byteCount(width: pixels.width, height: pixels.height)
    else { throw .misbehaved("announced pixels of impossible size") }
  }
}

extension ImageVariant {
  /// Whether a thumbnail of this variant can have that format.
  fileprivate func admits(_ encoding: ImageFormat) -> Bool {
    switch format {
    case .auto: [.jpeg, .webp].contains(encoding) || depth != .eight && encoding == .png
    case .compatible: [.jpeg, .png, .gif].contains(encoding)
    case .jpeg, .png, .webp, .avif, .gif: Format(encoding) == format
    }
  }

  /// The sizes that a thumbnail of this variant can have. One that covers the box and is not cropped
  /// is larger than the box.
  fileprivate var thumbnailSides: (widths: ClosedRange<Int>, heights: ClosedRange<Int>) {
    let padding = 2 * effects.padding
    guard mode.coversBox, crop == nil else {
      return (1 + padding...largestWidth + padding, 1 + padding...largestHeight + padding)
    }
    let sides = 1 + padding...Self.sideRange.upperBound
    return (sides, sides)
  }
}

extension Failure {
  /// What a decoder says of a picture, as far as a decoder can know.
  ///
  /// - Throws: a ``DecoderFault`` if no decoder says that.
  init(reportedByDecoder failure: Failure) throws(DecoderFault) {
    switch failure.code {
    case .notAnImage, .unsupportedFormat, .tooManyPixels, .tooManyFrames, .frameOutOfRange,
      .unsupportedAnimation, .corruptImage, .outOfMemory, .tooLarge, .internal:
      self.init(
        stage: .decode, code: failure.code,
        // Which failures pass is for the worker to say; more memory there will not be.
        isRetryable: failure.code == .outOfMemory ? false : nil,
        detail: failure.detail)
    default: throw .misbehaved("reported the failure \(failure.code.rawValue)")
    }
  }
}

/// What the decode thread wants done by the loop, which alone owns the coordinator's channel.
enum DecoderCommand: Sendable {
  /// Have the coordinator start a decoder, whose end of a socket pair this is.
  case start(DecoderID, channel: PassedFile)
  /// Have the coordinator kill a decoder.
  case end(DecoderID)
  /// The first decoder is ready.
  case ready(SandboxReport)
  /// No decoder can be started, for this reason. The thread has ended.
  case failed(String)
}

/// Why a worker can no longer use a decoder.
enum DecoderFault: Error {
  /// It closed the channel, most likely because it died.
  case closed
  /// It did not answer in time. The text says what took so long.
  case timedOut(String)
  /// It sent something that no decoder sends.
  case misbehaved(String)
  /// It was refused memory for a picture.
  case outOfMemory
  /// It cannot start.
  case refused(DecoderRefusal)
}

/// How a decoder ended, as far as it concerns its picture.
enum DecoderEnd: Hashable {
  /// The text is a predicate: `was killed by signal 11 (SIGSEGV)`.
  case crashed(String)
  /// The text says what took too long.
  case timedOut(String)
  /// An allocation was refused. It may have died of that.
  case outOfMemory
  /// By SIGKILL that this worker did not ask for: a person, or the kernel without memory.
  case killed

  /// - Parameters:
  ///   - exit: `nil` if the coordinator has not told.
  ///   - wasRefusedMemory: whether an allocation was refused while it had the picture.
  init(_ fault: DecoderFault, _ exit: DecoderExit.End?, wasRefusedMemory: Bool) {
    switch (fault, exit) {
    case (.timedOut(let what), _): self = .timedOut(what)
    case (.outOfMemory, _): self = .outOfMemory
    case (.misbehaved(let how), _): self = .crashed(how)
    case (.refused(let refusal), _): self = .crashed(refusal.reason)
    case (.closed, .signalled(SIGKILL)): self = .killed
    // The timers that the decoder sets itself, see `ThisProcess.setTimers`.
    case (.closed, .signalled(SIGALRM)): self = .timedOut("decoding took too long")
    case (.closed, .signalled(SIGPROF)):
      self = .timedOut("decoding took too much processor time")
    case (.closed, _) where wasRefusedMemory: self = .outOfMemory
    case (.closed, .signalled(let signal)): self = .crashed("\(ExitStatus.signalled(signal))")
    case (.closed, .exited(let status)): self = .crashed("\(ExitStatus.exited(status))")
    case (.closed, .notStarted(let reason)): self = .crashed("could not be started: \(reason)")
    case (.closed, nil): self = .crashed("closed its connection")
    }
  }
}
