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
    delivery: Delivery = .whole,
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
