import Glibc
import ImgModel
import ImgSandbox
import ImgSystem
import ImgWire

/// The program `imgdecoder`: decodes pictures for one worker. A coordinator starts it with the
/// descriptors that ``DecoderDescriptor`` lists.
package enum DecoderMain {
  typealias WorkerChannel = Channel<DecoderOrder, DecoderReport>

  /// How long the worker may take to send its first messages.
  private static let startTime = Duration.seconds(30)

  /// - Parameter record: has the size of each allocation that is refused from then on written to the 64-bit word
  ///   at an address. A parameter, because the functions that record replace malloc(3) of the whole program.
  /// - Returns: the exit status: 0 if the worker closed the channel, 1 on an error, 2 if no
  ///   coordinator started it.
  package static func run(recordingRefusedAllocationsBy record: (UInt) -> Void) -> Int32 {
    guard (try? UnixSocket.credentials(of: DecoderDescriptor.channel)) != nil else {
      note("started by imgcoordinator, not by hand")
      return 2
    }
    do {
      let sandbox = try Sandbox(start: .decoder(keeping: [0, 1, 2, DecoderDescriptor.channel]))
      ThisProcess.dieWithParent(signal: SIGKILL)
      ThisProcess.keepFreedMemory()
      let channel = try WorkerChannel(OwnedDescriptor(adopting: DecoderDescriptor.channel))
      var server = try start(channel, in: sandbox, recordingRefusedAllocationsBy: record)
      try server.serve()
      return 0
    } catch ChannelError.closed {
      return 0
    } catch {
      note("\(error)")
      return 1
    }
  }

  /// From the worker's first messages to `ready`. A decoder that cannot start sends the reason before
  /// it exits.
  private static func start(
    _ channel: WorkerChannel, in sandbox: consuming Sandbox,
    recordingRefusedAllocationsBy record: (UInt) -> Void
  ) throws -> PictureServer {
    let deadline = ContinuousClock.now + startTime
    let first = try channel.nextDelivery(until: deadline)
    guard case .start(let limits, let requiresSandbox) = first.message else {
      throw MessageError(description: "the worker did not begin with its limits")
    }
    let second = try channel.nextDelivery(until: deadline)
    guard case .input = second.message else {
      throw MessageError(description: "the worker passed on no memory for pictures")
    }
    do {
      let thumbnail = try ThumbnailMemory(mapping: first.announcedFile)
      let picture = try PictureMemory(mapping: second.announcedFile)
      thumbnail.recordRefusedAllocations(by: record)
      try sandbox.limit(
        to: ProcessLimits(
          privateByteCount: limits.decoderMemoryByteCount,
          sharedByteCount: Int64(picture.maximumByteCount + thumbnail.maximumByteCount)))
      let runtime = try VipsRuntime.start(allowing: limits.allowedFormats)
      let thumbnailer = Thumbnailer(runtime: runtime, limits: limits)
      let previewMaker = PreviewMaker(runtime: runtime, limits: limits)
      let report = try sandbox.lock(.decoder, isRequired: requiresSandbox)
      try channel.send(.ready(processID: ThisProcess.processID, report))
      return PictureServer(
        channel: channel, thumbnailer: thumbnailer, previewMaker: previewMaker,
        limits: limits, picture: picture, thumbnail: thumbnail)
    } catch {
      try channel.send(.refused(refusal(for: error)))
      try channel.flush(until: .now + .seconds(1))
      throw error
    }
  }

  /// What the kernel lacks it will lack again; all else may be a moment without memory.
  private static func refusal(for error: any Error) -> DecoderRefusal {
    let isLasting = if case SandboxError.missing = error { true } else { false }
    return DecoderRefusal(reason: String(describing: error), isLasting: isLasting)
  }

  /// Standard error is read by the coordinator, which logs it.
  private static func note(_ message: String) {
    // It may be closed; there is no other log.
    try? FileIO.writeAll(2, "imgdecoder: \(message.printable)\n")
  }
}

/// Decodes the pictures of a worker, one after the other, each within its budget of time.
struct PictureServer {
  /// After this time without a picture, a decoder counts as idle.
  private static let idleTime = Duration.seconds(1)

  let channel: DecoderMain.WorkerChannel
  let thumbnailer: Thumbnailer
  let previewMaker: PreviewMaker
  let limits: Limits
  /// Replaced after a large picture, so that its memory goes back to the machine.
  var picture: PictureMemory
  /// Lives as long as the process: failed allocations are recorded in it.
  let thumbnail: ThumbnailMemory

  /// Runs until the worker closes the channel.
  mutating func serve() throws {
    while true {
      let delivery = try nextDelivery()
      switch delivery.message {
      case .decode(let request): try channel.send(report(on: request))
      case .describe(let picture, let byteCount):
        try channel.send(report(on: picture, byteCount: byteCount))
      case .input: picture = try PictureMemory(mapping: delivery.announcedFile)
      case .start: throw MessageError(description: "the worker began twice")
      }
    }
  }

  /// Waits for the worker. A decoder without work gives the memory of its last pictures back, which
  /// costs some milliseconds.
  private func nextDelivery() throws(ChannelError) -> Delivery<DecoderOrder> {
    do throws(ChannelError) {
      return try channel.nextDelivery(until: .now + Self.idleTime)
    } catch {
      guard case .timedOut = error else { throw error }
    }
    ThisProcess.releaseFreedMemory()
    return try channel.nextDelivery(until: nil)
  }

  private func report(on request: DecodeRequest) throws(MessageError) -> DecoderReport {
    try check(request.byteCount)
    do throws(Failure) {
      let rendered = try limited(request.byteCount) {
        (bytes, onHeader) throws(Failure) -> RenderedThumbnails in
        switch request.output {
        case .preview:
          return try previewMaker.preview(of: bytes, as: request.variants[0], onHeader: onHeader)
        case .pixels:
          return try thumbnailer.pixels(of: bytes, as: request.variants[0], onHeader: onHeader)
        case .thumbnails:
          return try thumbnailer.thumbnails(
            of: bytes, as: request.variants, isLenient: request.isLenient, onHeader: onHeader)
        }
      }
      try put(rendered.thumbnails)
      let facts = RenderedFacts(
        thumbnails: rendered.thumbnails.map(\.thumbnail), source: rendered.source,
        thumbHash: rendered.thumbHash)
      return .decoded(facts, picture: request.picture)
    } catch {
      return .failed(reason(for: error), picture: request.picture)
    }
  }

  private func report(
    on picture: UInt64, byteCount: Int
  ) throws(MessageError) -> DecoderReport {
    try check(byteCount)
    do throws(Failure) {
      let description = try limited(byteCount) { (bytes, onHeader) throws(Failure) in
        try thumbnailer.description(of: bytes, onHeader: onHeader)
      }
      return .described(description, picture: picture)
    } catch {
      return .failed(reason(for: error), picture: picture)
    }
  }

  private func check(_ byteCount: Int) throws(MessageError) {
    guard (0...picture.maximumByteCount).contains(byteCount) else {
      throw MessageError(description: "the worker announced \(byteCount) bytes")
    }
  }

  /// Decodes the picture within the limits of time and memory.
  ///
  /// - Parameter decode: calls its second argument when the header has been read.
  private func limited<Result>(
    _ byteCount: Int, _ decode: (Span<UInt8>, () -> Void) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    defer { ThisProcess.setTimers(nil) }
    let deadline = ContinuousClock.now + limits.decodeTimeout
    ThisProcess.setTimers(limits.headerTimeout)
    let result = try picture.withPicture(byteCount: byteCount) { (bytes) throws(Failure) in
      try decode(bytes) {
        thumbnail.beginPixels()
        ThisProcess.setTimers(deadline - .now)
      }
    }
    // A library may leave out what it had no memory for, such as a picture inside an SVG.
    guard !thumbnail.hasRefusedAllocation else {
      throw Failure(
        stage: .decode, code: .corruptImage,
        detail: "a part of it would take more memory than any picture within the limits")
    }
    return result
  }

  /// Puts thumbnails into the output memory, one behind the other.
  private func put(_ thumbnails: [EncodedThumbnail]) throws(Failure) {
    let byteCount = thumbnails.map(\.bytes.count).reduce(0, +)
    guard byteCount <= thumbnail.maximumByteCount else {
      throw Failure(
        stage: .decode, code: .tooLarge,
        detail: "\(thumbnails.count == 1 ? "the thumbnail has" : "the thumbnails have") "
          + "\(byteCount) bytes; \(thumbnail.maximumByteCount) are the most")
    }
    var offset = 0
    for made in thumbnails {
      thumbnail.put(made.bytes.span, at: offset)
      offset += made.bytes.count
    }
  }

  /// Many decoders report memory that was refused as a fault of the picture.
  private func reason(for failure: Failure) -> Failure {
    switch failure.code {
    case .corruptImage, .unsupportedFormat, .internal:
      thumbnail.hasRefusedAllocation(within: limits)
        ? .outOfMemory(decoderMemory: limits.decoderMemoryByteCount) : failure
    default: failure
    }
  }
}
