import FoundationEssentials
import ImgClient
import ImgHTTP
import ImgModel

/// The phases of one load as server-sent events (WHATWG HTML Standard, section 9.2): `phase` for each, with previews of
/// a picture whose format has them, at last `end`.
struct PictureEvents: Sendable {
  let client: ImageClient
  let loads: LoadLimit

  /// - Parameters:
  ///   - request: within its ``ImageRequest/timeout``.
  ///   - address: where the picture is when it is there.
  func stream(of request: ImageRequest, at address: String) -> AsyncStream<[UInt8]> {
    var request = request
    request.isIncremental = true
    // A reader that is slow gets the newest events, and always the last two.
    return AsyncStream(bufferingPolicy: .bufferingNewest(2)) { [request] events in
      let task = Task {
        let failure = await failure(of: request) { phase in
          events.yield(PhaseReport(phase, at: address).event)
        }
        if let failure { events.yield(PhaseReport(failure).event) }
        events.yield(ServerSentEvent.bytes("end", Array("{}".utf8)))
        events.finish()
      }
      events.onTermination = { _ in task.cancel() }
    }
  }

  /// Loads the picture of a request.
  ///
  /// - Parameter onPhase: takes each phase but a failure.
  /// - Returns: why there is no picture; `nil` if there is one.
  private func failure(
    of request: ImageRequest, onPhase: @escaping @Sendable (ImagePhase) -> Void
  ) async -> FailureReport? {
    do throws(ImageError) {
      let load: Void? = try await loads.load(of: request.url) { () async throws(ImageError) in
        for await phase in client.phases(for: request) {
          if let error = phase.error { throw error }
          onPhase(phase)
        }
      }
      return load == nil ? FailureReport(.tooManyLoads) : nil
    } catch {
      return FailureReport(error)
    }
  }
}

/// The phase of a load in JSON.
struct PhaseReport: Encodable {
  private let phase: LoadPhase
  private let address: String?
  private let preview: ImagePreview?
  private let failure: FailureReport?

  /// - Parameters:
  ///   - phase: no failure.
  ///   - address: where the picture is when it is there.
  init(_ phase: ImagePhase, at address: String) {
    self.phase = LoadPhase(phase)
    self.address = phase.image.map { _ in address }
    preview = if case .preview(let preview) = phase { preview } else { nil }
    failure = nil
  }

  init(_ failure: FailureReport) {
    (phase, address, preview, self.failure) = (.failure, nil, nil, failure)
  }

  func encode(to encoder: any Encoder) throws {
    let preview = preview.map { preview in
      JSONObject([
        "number": preview.number, "type": preview.format.mediaType, "width": preview.width,
        "height": preview.height, "data": Data(preview.bytes).base64EncodedString(),
      ])
    }
    try JSONObject(
      [
        "phase": phase, "is_loading": phase.isLoading, "image": address,
        "error": failure?.details, "preview": preview,
      ], writesNull: true
    ).encode(to: encoder)
  }

  fileprivate var event: [UInt8] {
    ServerSentEvent.bytes("phase", GatewayJSON.bytes(of: self))
  }
}

/// An event of a stream of the type `text/event-stream`.
enum ServerSentEvent {
  /// - Parameter data: one line.
  static func bytes(_ name: String, _ data: [UInt8]) -> [UInt8] {
    Array("event: \(name)\ndata: ".utf8) + data + Array("\n\n".utf8)
  }
}

extension HTTPResponse {
  /// Events as they come.
  static func events(_ stream: AsyncStream<[UInt8]>) -> HTTPResponse {
    HTTPResponse(
      .ok,
      fields: [
        "Content-Type": "text/event-stream", "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        // nginx sends each event at once.
        "X-Accel-Buffering": "no",
      ],
      body: .stream(stream))
  }
}
