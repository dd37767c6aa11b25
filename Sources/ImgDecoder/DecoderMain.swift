import CAllocation
import Glibc
import ImgDecode
import ImgModel
import ImgSandbox
import ImgSystem
import ImgTransport
import ImgWire

/// The program `imgdecoder`: decodes pictures for one worker. A coordinator starts it with the
/// descriptors that ``DecoderDescriptor`` lists.
package enum DecoderMain {
  typealias WorkerChannel = Channel<DecoderOrder, DecoderReport>

  /// How long the worker may take to send its first messages.
  private static let startTime = Duration.seconds(30)

  /// - Returns: the exit status: 0 if the worker closed the channel, 1 on an error, 2 if no
  ///   coordinator started it.
  package static func run() -> Int32 {
    guard (try? UnixSocket.credentials(of: DecoderDescriptor.channel)) != nil else {
      note("started by imgcoordinator, not by hand")
      return 2
    }
    do {
      let sandbox = try Sandbox(start: .decoder(keeping: [0, 1, 2, DecoderDescriptor.channel]))
      ThisProcess.dieWithParent(signal: SIGKILL)
      ThisProcess.keepFreedMemory()
      let channel = try WorkerChannel(OwnedDescriptor(adopting: DecoderDescriptor.channel))
      var server = try start(channel, in: sandbox)
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
    _ channel: WorkerChannel, in sandbox: consuming Sandbox
  ) throws -> PictureServer {
    let deadline = ContinuousClock.now + startTime
    let first = try channel.nextDelivery(until: deadline)
    guard case .start(let start) = first.message else {
      throw MessageError(description: "the worker did not begin with its limits")
    }
    let second = try channel.nextDelivery(until: deadline)
    guard case .input = second.message else {
      throw MessageError(description: "the worker passed on no memory for pictures")
    }
    do {
      let thumbnail = try ThumbnailMemory(mapping: first.announcedFile)
      let picture = try PictureMemory(mapping: second.announcedFile)
      thumbnail.recordRefusedAllocations(by: img_record_refused_allocations)
      try sandbox.limit(
        to: ProcessLimits(
          privateByteCount: start.limits.decoderMemoryByteCount,
          sharedByteCount: Int64(picture.maximumByteCount + thumbnail.maximumByteCount)))
      let runtime = try VipsRuntime.start(allowing: start.limits.allowedFormats)
      let thumbnailer = Thumbnailer(runtime: runtime, limits: start.limits)
      let previewMaker = PreviewMaker(runtime: runtime, limits: start.limits)
      let report = try sandbox.lock(.decoder, isRequired: start.requiresSandbox)
      try channel.send(.ready(DecoderReady(processID: ThisProcess.processID, sandbox: report)))
      return PictureServer(
        channel: channel, thumbnailer: thumbnailer, previewMaker: previewMaker,
        limits: start.limits, picture: picture, thumbnail: thumbnail)
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
