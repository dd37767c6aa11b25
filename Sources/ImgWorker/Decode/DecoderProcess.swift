import ImgFacts
import ImgModel
import ImgSniff
import ImgSystem
import ImgTransport
import ImgWire

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
  /// The process, which it names before it sees a picture; `nil` until then.
  private(set) var processID: Int32?
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
      .start(DecoderStart(limits: limits, requiresSandbox: requiresSandbox)), with: thumbnail.file)
    try channel.send(.input, with: picture.file)
    commands.post(.start(id, channel: PassedFile(adopting: pair.takeSecond())))
  }

  /// Whether an allocation was refused since the last picture began.
  var wasRefusedMemory: Bool { thumbnail.hasRefusedAllocation(within: limits) }

  var isReady: Bool { processID != nil }

  /// The processor time that it has used since its last answer, if that is more than a decoder without
  /// a picture needs: a picture may have taken it over.
  var idleTimeInExcess: Duration? {
    guard let time = processorTime, time - answeredTime > Self.maximumIdleTime else { return nil }
    return time - answeredTime
  }

  private var processorTime: Duration? { processID.flatMap(ProcessClock.time) }

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
    case .ready(let ready):
      processID = ready.processID
      answeredTime = processorTime ?? .zero
      return ready.sandbox
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
    let answer = try answer { picture in
      .describe(DescribeRequest(picture: picture, byteCount: byteCount))
    }
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
    do throws(ChannelError) {
      try channel.send(order(pictureCount))
    } catch {
      throw Self.fault(error, "the decoder took no picture")
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
      do throws(ChannelError) {
        try channel.send(.input, with: memory.file)
      } catch {
        throw Self.fault(error, "the decoder took no picture")
      }
      picture = memory
      return byteCount
    }
  }

  /// Whether the picture can be shown.
  ///
  /// - Parameter shownByteCount: the first bytes that the previous preview shows.
  func prospect(byteCount: Int, shownByteCount: Int) -> PreviewProspect {
    picture.withPicture(byteCount: byteCount) {
      PreviewProspect(of: $0, shownByteCount: shownByteCount)
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
    let head = picture.withPicture(byteCount: byteCount) { bytes in
      let examined = bytes.extracting(first: FormatSniffer.examinedByteCount)
      return unsafe examined.withUnsafeBufferPointer { unsafe Array($0) }
    }
    guard case .picture(let format) = FormatSniffer.sniff(head) else { return nil }
    return format
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
