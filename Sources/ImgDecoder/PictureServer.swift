import ImgDecode
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

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
      case .describe(let request): try channel.send(report(on: request))
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

  private func report(on request: DescribeRequest) throws(MessageError) -> DecoderReport {
    try check(request.byteCount)
    do throws(Failure) {
      let description = try limited(request.byteCount) { (bytes, onHeader) throws(Failure) in
        try thumbnailer.description(of: bytes, onHeader: onHeader)
      }
      return .described(description, picture: request.picture)
    } catch {
      return .failed(reason(for: error), picture: request.picture)
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
