/// What a path of the origin does with the requests it gets.
package indirect enum Behaviour: Sendable {
  /// The same answer to every request.
  case response(Response)

  /// A file with validators and ranges.
  case resource(Resource)

  /// The first behaviour for the first request, and so on; the last one for all that follow.
  case sequence([Behaviour])

  /// 401 unless the `Authorization` field has exactly this value.
  case authorized(by: String, Behaviour)
}

extension Behaviour {
  /// A body with status 200.
  package static func body(
    _ bytes: [UInt8],
    contentType: String = "image/jpeg",
    headers: [Header] = [],
    delivery: BodyDelivery = .whole,
    headerDelay: Duration = .zero
  ) -> Behaviour {
    .response(
      Response(
        headers: [Header("Content-Type", contentType)] + headers,
        body: bytes, delivery: delivery, headerDelay: headerDelay))
  }

  /// A status with a short text as its body, where the status may have one (RFC 9110, section
  /// 6.4.1).
  package static func status(
    _ code: Int, headers: [Header] = [], retryAfter: String? = nil
  ) -> Behaviour {
    var response = Response(status: code, headers: headers)
    if let retryAfter { response.headers.append(Header("Retry-After", retryAfter)) }
    if code != 204, code != 304 {
      response.headers.append(Header("Content-Type", "text/plain"))
      response.body = Array("status \(code)\n".utf8)
    }
    return .response(response)
  }

  /// One status a request, such as 503, 503, 200; a 200 carries `body`.
  package static func statuses(
    _ codes: [Int], body bytes: [UInt8] = [], retryAfter: String? = nil
  ) -> Behaviour {
    .sequence(codes.map { $0 == 200 ? .body(bytes) : .status($0, retryAfter: retryAfter) })
  }

  /// A redirect to an absolute URL or to a path of the origin. Chains and loops are made of
  /// several.
  package static func redirect(to location: String, status: Int = 302) -> Behaviour {
    .response(Response(status: status, headers: [Header("Location", location)]))
  }

  /// Status 200 and a body of no bytes.
  package static var empty: Behaviour { .body([]) }
}

extension Behaviour {
  /// The answer to one request.
  ///
  /// - Parameter ordinal: How many requests this behaviour answered before.
  func response(to request: Request, ordinal: Int) -> Response {
    switch self {
    case .response(let response):
      return response
    case .resource(let resource):
      return resource.response(to: request)
    case .sequence(let behaviours):
      precondition(!behaviours.isEmpty, "a sequence of behaviours has at least one")
      let behaviour = behaviours[min(ordinal, behaviours.count - 1)]
      return behaviour.response(to: request, ordinal: ordinal)
    case .authorized(let credentials, let behaviour):
      guard request.headers["authorization"] == credentials else {
        let challenge = Header("WWW-Authenticate", "Basic realm=\"origin\"")
        return Response(status: 401, headers: [challenge])
      }
      return behaviour.response(to: request, ordinal: ordinal)
    }
  }

  /// Whether answers depend on how many there were before.
  var countsRequests: Bool {
    switch self {
    case .sequence: true
    case .authorized(_, let behaviour): behaviour.countsRequests
    case .response, .resource: false
    }
  }
}

/// How the body of an answer goes out. Positions are body bytes.
package enum BodyDelivery: Sendable, Hashable {
  /// At once, with its length declared.
  case whole

  /// At once, chunked, so that the client does not know the length.
  case chunked

  /// At this rate, in about twenty slices a second, with its length declared.
  case drip(bytesPerSecond: Int)

  /// The connection is closed in order after this many bytes: of the declared length, or in the
  /// middle of a chunked body.
  case cut(after: Int, declaresLength: Bool = true)

  /// The connection is reset (TCP RST) after this many bytes of the declared length.
  case reset(after: Int)

  /// Nothing more after this many bytes of the declared length until the path is released; then the
  /// rest. The position lies inside the body.
  case stall(after: Int)

  /// Nothing more after each of these many bytes, in ascending order, until that step of the path is
  /// released. They lie inside the body.
  case steps([Int])

  /// Nothing at all, not even the status line, until the path is released.
  case hold

  /// The whole body under this `Content-Length`, which is not its length; then an orderly close.
  case wrongLength(declared: Int)

  /// Chunked bytes that look like noise, until the client goes. The body is ignored.
  case endless
}

extension BodyDelivery {
  /// What happens next, when the client can take more of a body.
  enum Step: Equatable {
    case send(byteCount: Int)
    case sendAfter(Duration, byteCount: Int)
    case sendAfterRelease(byteCount: Int, step: Int = 0)
    case end
    case breakOff
    case reset
  }

  /// The step at a position of a body.
  func step(at position: Int, of byteCount: Int, room: Int) -> Step {
    let slice = min(room, byteCount - position)
    switch self {
    case .whole, .chunked, .hold, .wrongLength:
      return slice == 0 ? .end : .send(byteCount: slice)
    case .drip(let bytesPerSecond):
      let dripped = min(slice, max(1, bytesPerSecond / 20))
      return .sendAfter(.seconds(1) * dripped / bytesPerSecond, byteCount: dripped)
    case .cut(let end, _):
      return position < end ? .send(byteCount: min(slice, end - position)) : .breakOff
    case .reset(let end):
      return position < end ? .send(byteCount: min(slice, end - position)) : .reset
    case .stall(let halt) where position < halt:
      return .send(byteCount: min(slice, halt - position))
    case .stall(let halt):
      return position == halt ? .sendAfterRelease(byteCount: slice) : .send(byteCount: slice)
    case .steps(let halts):
      let end = halts.first { $0 > position } ?? byteCount
      let part = min(slice, end - position)
      guard let step = halts.firstIndex(of: position) else { return .send(byteCount: part) }
      return .sendAfterRelease(byteCount: part, step: step)
    case .endless:
      return .send(byteCount: room)
    }
  }

  /// The length of a body of `byteCount` bytes if libmicrohttpd is to declare and keep it.
  func knownLength(of byteCount: Int) -> Int? {
    switch self {
    case .chunked, .endless, .cut(_, declaresLength: false), .wrongLength: nil
    default: byteCount
    }
  }

  /// How many releases of the path a client may have to wait for.
  var releaseCount: Int {
    switch self {
    case .hold, .stall: 1
    case .steps(let halts): halts.count
    default: 0
    }
  }
}

/// One header line of a request or of an answer.
package struct Header: Sendable, Hashable {
  package let name: String
  package let value: String

  package init(_ name: String, _ value: String) {
    self.name = name
    self.value = value
  }
}

/// A request as the origin's client sent it.
package struct Request: Sendable {
  package let method: String

  /// The target's part before the first `?`, percent escapes kept.
  package let path: String

  /// The target's part behind the first `?`; nil when it has none.
  package let query: String?

  /// The header fields under their lowercased names; of a repeated field the last line.
  package let headers: [String: String]
}

/// One answer: what is said and how it goes out.
package struct Response: Sendable {
  package var status: Int
  package var headers: [Header]
  package var body: [UInt8]
  package var delivery: BodyDelivery

  /// How long the client waits for the status line.
  package var headerDelay: Duration

  package init(
    status: Int = 200,
    headers: [Header] = [],
    body: [UInt8] = [],
    delivery: BodyDelivery = .whole,
    headerDelay: Duration = .zero
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.delivery = delivery
    self.headerDelay = headerDelay
  }
}
