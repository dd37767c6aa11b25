import FoundationEssentials
import ImgGateway
import ImgHTTP
import Synchronization

/// A gateway with the real gallery, whose lists and pictures are made up.
final class CannedGateway: HTTPHandler {
  private struct State {
    var pictures: [CannedPicture] = []
    var job: CannedJob?
    var jobPictures: [CannedPicture] = []
    var isCoordinatorGone = false
    var isOriginPaused = false
    var isFull = false
    var requests: [String] = []
    var followers: [AsyncStream<[UInt8]>.Continuation] = []
  }

  private struct Failure: Encodable {
    struct Details: Encodable {
      let code: String
      let message: String
      let retryable: Bool
    }

    let error: Details
  }

  /// A phase of a load, with the keys of the gateway.
  private struct CannedPhase: Encodable {
    struct Preview: Encodable {
      let number: Int
      let data: String
      let type = "image/svg+xml"
    }

    let phase: String
    var preview: Preview?
    var error: Failure.Details?
  }

  private struct Jobs: Encodable { let jobs: [CannedJob] }

  /// Holds back pictures, not lists.
  let gate = PictureGate()
  private let gallery = GalleryPage()
  private let delay: String
  private let state: Mutex<State>

  /// - Parameters:
  ///   - pictures: those of the store.
  ///   - job: the only job.
  ///   - jobPictures: those of the job.
  ///   - delay: how long a cell waits before it requests its picture, in seconds.
  init(
    _ pictures: [CannedPicture] = [], job: CannedJob? = nil, jobPictures: [CannedPicture] = [],
    delay: String = "0.25"
  ) {
    self.delay = delay
    state = Mutex(State(pictures: pictures, job: job, jobPictures: jobPictures))
  }

  /// The targets that were requested, in their order.
  var requests: [String] { state.withLock { $0.requests } }

  /// Whether lists are answered with 503.
  var isCoordinatorGone: Bool {
    get { state.withLock { $0.isCoordinatorGone } }
    set { state.withLock { $0.isCoordinatorGone = newValue } }
  }

  /// Whether pictures in other sizes are answered with 503.
  var isOriginPaused: Bool {
    get { state.withLock { $0.isOriginPaused } }
    set { state.withLock { $0.isOriginPaused = newValue } }
  }

  /// Whether thumbnails are answered with 503.
  var isFull: Bool {
    get { state.withLock { $0.isFull } }
    set { state.withLock { $0.isFull = newValue } }
  }

  /// Removes a picture of the store, which lists have named.
  func remove(_ id: String) {
    state.withLock { state in state.pictures.removeAll { $0.id == id } }
  }

  /// Removes the job with its pictures. What follows it is told no end.
  func removeJob() {
    state.withLock { state in
      (state.job, state.jobPictures) = (nil, [])
      for follower in state.followers { follower.finish() }
      state.followers = []
    }
  }

  /// Changes the job, and tells those that follow it.
  func change(_ job: CannedJob, pictures: [CannedPicture]? = nil, isEnd: Bool = false) {
    let event = Self.event("job", job) + (isEnd ? Self.event("end", job) : [])
    state.withLock { state in
      state.job = job
      state.jobPictures = pictures ?? state.jobPictures
      for follower in state.followers {
        follower.yield(event)
        if isEnd { follower.finish() }
      }
      if isEnd { state.followers = [] }
    }
  }

  func answer(to request: HTTPRequest) -> HTTPAnswer {
    state.withLock { $0.requests.append(request.target) }
    if let page = gallery.response(to: request) { return .response(withDelay(page)) }
    guard let address = URLComponents(string: request.target) else {
      return .response(Self.missing)
    }
    let parts = address.path.split(separator: "/")
    switch (parts.first, parts.count) {
    case ("v2", _): return .response(list(address.queryItems ?? []))
    case ("id", 2): return picture(String(parts[1]))
    case ("id", 4): return large(parts[1...].map(String.init))
    case ("id", 5): return .response(load(parts[1...].map(String.init)))
    case ("id", 3): return .response(facts(of: String(parts[1])))
    case ("api", 2): return .response(jobs())
    case ("api", 3): return .response(job(String(parts[2])))
    case ("api", 4) where parts.last == "events": return .response(events(of: String(parts[2])))
    case ("api", 4): return .response(Self.failure(.init(rawValue: 409), "wrong_state", "no retry"))
    default: return .response(Self.missing)
    }
  }

  /// The page with the delay of this gateway instead of its own.
  private func withDelay(_ page: HTTPResponse) -> HTTPResponse {
    guard case .bytes(let body) = page.body,
      page.fields["Content-Type"]?.hasPrefix("text/html") == true
    else { return page }
    let text = String(decoding: body.bytes, as: UTF8.self)
    var changed = page
    changed.body = .bytes(
      Array(text.replacing("data-delay=0.25", with: "data-delay=\(delay)").utf8))
    return changed
  }

  private func list(_ items: [URLQueryItem]) -> HTTPResponse {
    let fields = Dictionary(items.map { ($0.name, $0.value ?? "") }) { first, _ in first }
    let (isGone, job, all) = state.withLock { state in
      (
        state.isCoordinatorGone, state.job?.job,
        fields["job"] == nil ? state.pictures : state.jobPictures
      )
    }
    guard !isGone else {
      return Self.failure(.serviceUnavailable, "no_coordinator", "no coordinator answers")
    }
    guard fields["job"].map({ $0 == job.map(String.init) }) ?? true else { return Self.missing }
    guard (fields["q"] ?? "").utf8.count <= 128 else {
      return Self.failure(.badRequest, "bad_request", "q has more than 128 bytes")
    }
    let matching = all.filter { picture in
      picture.url.contains(fields["q"] ?? "")
        && [nil, picture.state].contains(fields["outcome"])
        && [nil, picture.code].contains(fields["code"])
    }
    let number = fields["page"].flatMap(Int.init) ?? 1
    let limit = fields["limit"].flatMap(Int.init) ?? 30
    let page = Array(matching.dropFirst((number - 1) * limit).prefix(limit))
    var response = Self.json(page)
    if number * limit < matching.count {
      var next = URLComponents()
      next.path = "/v2/list"
      next.queryItems = items.map {
        $0.name == "page" ? URLQueryItem(name: "page", value: String(number + 1)) : $0
      }
      response.fields.add("Link", "<\(next.string ?? "")>; rel=\"next\"")
    }
    return response
  }

  private func found(_ id: String) -> CannedPicture? {
    state.withLock { state in (state.pictures + state.jobPictures).first { $0.id == id } }
  }

  private func picture(_ id: String) -> HTTPAnswer {
    guard let picture = found(id) else { return .response(Self.missing) }
    guard !isFull else {
      return .response(Self.failure(.serviceUnavailable, "busy", "the gateway is full"))
    }
    return .later { [gate] in
      await gate.pass()
      return Self.drawing(picture.file)
    }
  }

  /// A picture in a size: its id, the width, the height.
  private func large(_ parts: [String]) -> HTTPAnswer {
    guard found(parts[0]) != nil, let width = Int(parts[1]), let height = Int(parts[2]) else {
      return .response(Self.missing)
    }
    guard !isOriginPaused else {
      return .response(Self.failure(.serviceUnavailable, "busy", "the origin asks for a pause"))
    }
    return .response(Self.drawing(CannedPicture.file(width: width, height: height)))
  }

  /// The load of a picture in a size: a preview, and the end when the gate is open.
  private func load(_ parts: [String]) -> HTTPResponse {
    guard found(parts[0]) != nil, let width = Int(parts[1]), let height = Int(parts[2]) else {
      return Self.missing
    }
    let file = CannedPicture.file(width: width, height: height)
    let preview = CannedPhase.Preview(number: 1, data: Data(file.utf8).base64EncodedString())
    let (stream, events) = AsyncStream.makeStream(of: [UInt8].self)
    if isOriginPaused {
      let details = Failure.Details(
        code: "busy", message: "the origin asks for a pause", retryable: true)
      events.yield(Self.event("phase", CannedPhase(phase: "failure", error: details)))
    } else {
      events.yield(Self.event("phase", CannedPhase(phase: "preview", preview: preview)))
      Task { [gate] in
        await gate.pass()
        events.yield(Self.event("phase", CannedPhase(phase: "success")))
      }
    }
    return HTTPResponse(.ok, fields: ["Content-Type": "text/event-stream"], body: .stream(stream))
  }

  private static func drawing(_ file: String) -> HTTPResponse {
    HTTPResponse(.ok, fields: ["Content-Type": "image/svg+xml"], body: .bytes(Array(file.utf8)))
  }

  private func facts(of id: String) -> HTTPResponse {
    found(id).map { Self.json($0) } ?? Self.missing
  }

  private func jobs() -> HTTPResponse {
    Self.json(Jobs(jobs: state.withLock { $0.job.map { [$0] } ?? [] }))
  }

  private func job(_ id: String) -> HTTPResponse {
    state.withLock { $0.job }.flatMap { String($0.job) == id ? Self.json($0) : nil } ?? Self.missing
  }

  private func events(of id: String) -> HTTPResponse {
    guard job(id).status == .ok else { return Self.missing }
    let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
    state.withLock { state in
      if let job = state.job { continuation.yield(Self.event("job", job)) }
      state.followers.append(continuation)
    }
    return HTTPResponse(.ok, fields: ["Content-Type": "text/event-stream"], body: .stream(stream))
  }

  private static let missing = failure(.notFound, "not_found", "the gateway has nothing here")

  private static func failure(_ status: HTTPStatus, _ code: String, _ message: String)
    -> HTTPResponse
  {
    let isRetryable = status == .serviceUnavailable
    return json(Failure(error: .init(code: code, message: message, retryable: isRetryable)), status)
  }

  private static func json(_ value: some Encodable, _ status: HTTPStatus = .ok) -> HTTPResponse {
    HTTPResponse(status, fields: ["Content-Type": "application/json"], body: .bytes(encoded(value)))
  }

  private static func event(_ name: String, _ value: some Encodable) -> [UInt8] {
    Array("event: \(name)\ndata: ".utf8) + encoded(value) + Array("\n\n".utf8)
  }

  private static func encoded(_ value: some Encodable) -> [UInt8] {
    guard let data = try? JSONEncoder().encode(value) else {
      preconditionFailure("the values of these tests are JSON")
    }
    return Array(data)
  }
}

/// An object of the gateway's lists, for a picture that is made up.
struct CannedPicture: Encodable, Sendable {
  let id: String
  var author = "example.org"
  var width = 120
  var height = 90
  var url: String
  /// That of some photograph.
  var thumbHash: String? = "TvgFDYIOYodmh4pBm2hnfC90BBfq"
  var state = "done"
  var code: String?
  var message: String?
  var retryable: Bool?
  var type: String? = "image/svg+xml"
  var byteCount = 1234
  var fromCache = true
  var storedAt: String? = "2026-11-28T06:24:51.760Z"
  var expiresAt: String?
  var source: CannedSource?

  enum CodingKeys: String, CodingKey {
    case id, author, url
    case width = "thumbnail_width"
    case height = "thumbnail_height"
    case thumbHash = "thumb_hash"
    case state, code, message, retryable, type
    case byteCount = "byte_count"
    case fromCache = "from_cache"
    case storedAt = "stored_at"
    case expiresAt = "expires_at"
    case source
  }

  /// A picture of a place in a list. Each has a width of its own, so a test can tell it from the others.
  init(_ prefix: String = "store", index: Int) {
    id = "\(prefix)-\(index)"
    url = "https://example.org/\(prefix)/\(index).jpg"
    width += index
  }

  /// A failure of a place in a list.
  static func failed(_ prefix: String, index: Int, code: String, message: String) -> CannedPicture {
    var picture = CannedPicture(prefix, index: index)
    picture.state = "failed"
    picture.code = code
    picture.message = message
    picture.retryable = true
    (picture.width, picture.height, picture.byteCount) = (0, 0, 0)
    (picture.thumbHash, picture.type, picture.storedAt) = (nil, nil, nil)
    return picture
  }

  /// The picture as a file: an empty drawing of its size.
  var file: String { Self.file(width: width, height: height) }

  static func file(width: Int, height: Int) -> String {
    "<svg xmlns='http://www.w3.org/2000/svg' width='\(width)' height='\(height)'>"
      + "<rect width='100%' height='100%' fill='teal'/></svg>"
  }
}

/// The source of a picture that is made up.
struct CannedSource: Encodable, Sendable {
  let type = "image/jpeg"
  let width: Int
  let height: Int
}

/// A job of the gateway that is made up.
struct CannedJob: Encodable, Sendable {
  var job = 1
  var name: String?
  var state = "running"
  var total = 100
  var done = 0
  var failed = 0
  var retryable = 0
  var cancelled = 0
  var queued = 100
  var running = 0
  var fromCache = 0

  enum CodingKeys: String, CodingKey {
    case job, name, state, total, done, failed, retryable, cancelled, queued, running
    case fromCache = "from_cache"
  }
}

/// Holds back the answers of a server until a test lets them go.
final class PictureGate: Sendable {
  private struct State {
    var isOpen = true
    var waiting: [AsyncStream<Never>.Continuation] = []
  }

  private let state = Mutex(State())

  /// Holds back what comes from now on.
  func close() {
    state.withLock { $0.isOpen = false }
  }

  /// Lets everything go.
  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.finish() }
  }

  /// Returns when the gate is open, or the task is cancelled.
  func pass() async {
    let (stream, continuation) = AsyncStream.makeStream(of: Never.self)
    let mustWait = state.withLock { state in
      if !state.isOpen { state.waiting.append(continuation) }
      return !state.isOpen
    }
    guard mustWait else { return }
    for await _ in stream {}
  }
}
