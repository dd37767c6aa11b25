import FoundationEssentials
import ImgClient
import ImgHTTP
@_spi(Containers) import ImgModel
import Synchronization

/// Answers requests for pictures: from memory, from the store, or by the cluster.
final class PictureService: Sendable {
  private let images: PreparedImages
  private let known: KnownRequests
  private let substitutes: Substitutes
  private let loader: PictureLoader
  private let continued: ContinuedLoads
  /// What the answers had.
  let counts = PictureCounts()
  /// Of a request.
  let timeout: Duration

  /// - Parameters:
  ///   - client: without a memory of its own.
  ///   - timeout: of a load.
  ///   - byteBudget: see ``PreparedImages``.
  init(
    _ client: ImageClient, maximumLoads: Int, timeout: Duration,
    byteBudget: Int = PreparedImages.standardBudget
  ) {
    self.timeout = timeout
    images = PreparedImages(client, budget: byteBudget)
    known = KnownRequests(in: images.memory)
    loader = PictureLoader(client: client, images: images, limit: LoadLimit(maximumLoads))
    continued = ContinuedLoads(loader, timeout: timeout)
    substitutes = Substitutes(loader: loader, continued: continued)
  }

  /// The loads by the cluster.
  var loads: LoadLimit { loader.limit }

  /// What is kept of images and answers.
  var memory: MemoryShare { images.memory }

  /// A hit at once, everything else later.
  ///
  /// - Parameter read: reads the request. It is not called for a target that was read before, unless the
  ///   answer depends on the time.
  func answer(
    to request: HTTPRequest, read: () throws(RequestRejection) -> ImageQuery
  ) throws(RequestRejection) -> HTTPAnswer {
    let key = KnownRequests.Key(target: request.target, accept: request.fields["Accept"])
    if let value = known.value(of: key) {
      if value.answer.isValid(at: .now), Conditions(request.fields).isEmpty {
        counts.count(value.answer.response.response, from: .store)
        return .repeated(value.answer.response)
      }
      return answer(to: request, for: value.query, wanted: value.wanted, key: key)
    }
    let query = try read()
    return answer(
      to: request, for: query, wanted: wanted(by: query, accept: key.accept),
      key: query.expiresAt == nil ? key : nil)
  }

  /// - Parameter key: of a request whose answer may be kept.
  private func answer(
    to request: HTTPRequest, for query: ImageQuery, wanted: ImageRequest,
    key: KnownRequests.Key? = nil
  ) -> HTTPAnswer {
    let now = WallTime.now
    let (wanted, found) = find(wanted, at: now)
    if case .hit(let entry) = found {
      return hit(entry, for: query, wanted, request, at: now, key: key)
    }
    return .later(.connection) { [self] in
      await loadedResponse(to: request, for: query, wanted, found: found)
    }
  }

  /// The hit for a request, or for one that jobs make and whose thumbnail has the same bytes: the automatic format is
  /// WebP for transparent pictures alone, so that its JPEGs serve every client, and only drawings grow by themselves.
  private func find(
    _ wanted: ImageRequest, at now: WallTime
  ) -> (ImageRequest, PreparedImages.Found) {
    // What is wrong with a request is told by its load.
    let found = (try? images.find(wanted, at: now)) ?? .nothing
    guard case .nothing = found, let other = wanted.ofJobs,
      let stored = try? images.find(other, at: now)
    else { return (wanted, found) }
    switch stored {
    case .hit(let entry) where entry.image.format == .jpeg && !entry.image.isDrawing:
      return (other, stored)
    case .large(let facts) where facts.format == .jpeg && facts.source.format != .svg:
      return (other, stored)
    case .hit, .large, .nothing, .noRoom: return (wanted, found)
    }
  }

  /// The phases of a load as events. It is not counted as an answer with a picture.
  ///
  /// - Parameter address: where the picture is when it is there.
  func events(of request: ImageRequest, at address: String) -> HTTPResponse {
    var request = request
    request.timeout = timeLimit(of: request)
    request.maximumRetryAfter = Self.maximumRetryAfter
    let events = PictureEvents(client: loader.client, loads: loads)
    return .events(events.stream(of: request, at: address))
  }

  /// The answer with a thumbnail that is at hand.
  func response(
    to request: HTTPRequest, for query: ImageQuery, with image: LoadedImage
  ) async throws(ImageError) -> HTTPResponse {
    guard let image = try await images.prepare(image) else {
      return FailureReport(.noRoom).response()
    }
    return present(image, to: request, for: query, at: .now)
  }

  /// The answer with an image, which is counted.
  private func present(
    _ image: PreparedImage, to request: HTTPRequest, for query: ImageQuery, at now: WallTime
  ) -> HTTPResponse {
    let response = image.response(to: request, for: query, at: now)
    counts.count(response, from: image.origin)
    return response
  }

  /// The answer for a caller that waits.
  func response(to request: HTTPRequest, for query: ImageQuery) async -> HTTPResponse {
    let wanted = wanted(by: query, accept: request.fields["Accept"])
    switch answer(to: request, for: query, wanted: wanted) {
    case .response(let response): return response
    case .repeated(let repeated): return repeated.response
    case .later(_, let body): return await body()
    }
  }

  private func wanted(by query: ImageQuery, accept: String?) -> ImageRequest {
    var wanted = query.request
    if let format = AcceptedFormats(accept).format(for: query) {
      wanted.variant.format = format
    }
    wanted.maximumRetryAfter = Self.maximumRetryAfter
    return wanted
  }

  /// A client that waits longer for an origin's pause holds up others. It is told when to come back instead.
  static let maximumRetryAfter = Duration.seconds(2)

  private func hit(
    _ entry: PreparedImages.Entry, for query: ImageQuery, _ wanted: ImageRequest,
    _ request: HTTPRequest, at now: WallTime, key: KnownRequests.Key?
  ) -> HTTPAnswer {
    let response = present(entry.image, to: request, for: query, at: now)
    guard let key, entry.image.body.count <= KnownRequests.maximumBodyByteCount,
      Conditions(request.fields).isEmpty
    else { return .response(response) }
    let answer = TimedAnswer(response, of: entry.image, from: now, until: entry.end)
    known.insert(KnownRequests.Value(query: query, wanted: wanted, answer: answer), as: key)
    return .repeated(answer.response)
  }

  /// The answer with the picture when it is there, or with what stands in for it. A picture that is stored is as good
  /// as there, also if its copy takes a while.
  private func loadedResponse(
    to request: HTTPRequest, for query: ImageQuery, _ wanted: ImageRequest,
    found: PreparedImages.Found
  ) async -> HTTPResponse {
    let deadline = ContinuousClock.now + timeLimit(of: wanted)
    let result: Result<PictureLoader.Outcome, ImageError>
    if let wait = query.wait, case .nothing = found {
      switch await continued.progress(of: wanted, within: wait.limit) {
      case .ended(let ended): result = ended
      case .underWay(let age):
        counts.countPlaceholder()
        return await substitutes.response(
          with: wait.substitute, for: query, wanted, whileLoading: age)
      }
    } else {
      result = await loadResult(of: wanted, found: found)
    }
    let failure: FailureReport
    switch result {
    case .success(.image(let image)): return present(image, to: request, for: query, at: .now)
    case .success(.noRoom): failure = FailureReport(.noRoom)
    case .success(.noLoad): failure = FailureReport(.tooManyLoads)
    case .failure(let error): failure = FailureReport(error)
    }
    let response = await substitutes.response(
      for: query, wanted, insteadOf: failure, until: deadline)
    if response.status == .ok { counts.countReplacement() }
    return response
  }

  private func loadResult(
    of wanted: ImageRequest, found: PreparedImages.Found
  ) async -> Result<PictureLoader.Outcome, ImageError> {
    do throws(ImageError) {
      return .success(
        try await loader.image(for: wanted, found: found, within: timeLimit(of: wanted)))
    } catch {
      return .failure(error)
    }
  }

  private func timeLimit(of request: ImageRequest) -> Duration { request.timeLimit(upTo: timeout) }
}

extension ImageRequest {
  /// How long its load may take, given the limit of the server.
  func timeLimit(upTo maximum: Duration) -> Duration { min(timeout ?? maximum, maximum) }

  /// The request in the automatic format, and for pictures that are no drawings; `nil` for one in a format that not
  /// every client decodes.
  fileprivate var ofJobs: ImageRequest? {
    guard variant.format == .compatible else { return nil }
    var other = self
    other.variant.format = .auto
    other.variant.sizing = Sizing(
      density: variant.sizing.density, maximumPixelCount: variant.sizing.maximumPixelCount)
    return other
  }
}

extension RequestRejection {
  fileprivate static let noRoom = RequestRejection(
    .serviceUnavailable, code: "too_many_requests",
    "too many large pictures are being sent; ask again later")

  static let tooManyLoads = RequestRejection(
    .serviceUnavailable, code: "too_many_requests",
    "too many pictures are loading; ask again later")
}

/// What requests for hits asked for, so that a repeated one is not read again.
final class KnownRequests: MemoryUser {
  /// What decides what a request asks for, as the client sent it.
  struct Key: Hashable {
    let target: String
    /// The field `Accept`.
    let accept: String?
  }

  /// A request that was read, and the load in the format for its client.
  final class Value: Sendable {
    let query: ImageQuery
    let wanted: ImageRequest
    /// What was answered last.
    let answer: TimedAnswer

    init(query: ImageQuery, wanted: ImageRequest, answer: TimedAnswer) {
      self.query = query
      self.wanted = wanted
      self.answer = answer
    }
  }

  /// What an entry needs beside its target and a body, about.
  private static let overhead = 2_560
  /// The bytes of a body that a kept answer may have. A larger answer takes longer to send than to make again, and
  /// would push out many others.
  static let maximumBodyByteCount = 64 << 10

  private let memory: MemoryShare
  private let values = Mutex(LeastRecentlyUsed<Key, Value>())

  init(in memory: MemoryShare) {
    self.memory = memory
    memory.add(self)
  }

  /// The size of all requests and answers together. A body counts also if an image in memory has it, too.
  var keptByteCount: Int { values.withLock(\.cost) }

  func trim(toByteCount byteCount: Int) {
    values.withLock { $0.trim(toCost: byteCount) }
  }

  /// - Returns: `nil` for a request that was not read before.
  func value(of key: Key) -> Value? {
    values.withLock { $0.use(key) }
  }

  /// Keeps a request, and what was answered last.
  func insert(_ value: Value, as key: Key) {
    // The URL in the target is there twice: as sent, and as read.
    let cost =
      2 * key.target.utf8.count + (key.accept?.utf8.count ?? 0) + value.answer.byteCount
      + Self.overhead
    values.withLock { $0.insert(value, as: key, cost: cost) }
    memory.settle()
  }
}

/// The answer to a request without conditions, for as long as each field of it is true.
struct TimedAnswer {
  let response: RepeatedResponse
  private let validity: Range<WallTime>

  /// - Parameters:
  ///   - response: made at `now`.
  ///   - end: when the image must be compared with the store.
  init(_ response: HTTPResponse, of image: PreparedImage, from now: WallTime, until end: WallTime) {
    self.response = RepeatedResponse(response)
    var end = end
    if let storedAt = image.storedAt {
      // The age of the image is told in whole seconds.
      let age = max(0, storedAt.duration(to: now).components.seconds)
      end = min(end, storedAt.advanced(by: .seconds(age + 1)))
    }
    validity = now..<max(now, end)
  }

  func isValid(at now: WallTime) -> Bool {
    validity.contains(now)
  }

  /// The bytes of its body.
  var byteCount: Int {
    if case .bytes(let body) = response.response.body { body.count } else { 0 }
  }
}

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
