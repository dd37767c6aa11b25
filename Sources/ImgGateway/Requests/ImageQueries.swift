package import ImgClient
import ImgCrypto
package import ImgHTTP
package import ImgModel
package import ImgSettings

/// Reads requests for pictures: checks the signature, reads the options, and checks the sides and the addresses.
package struct ImageQueries: Sendable {
  package let signatures: RequestSignatures
  package let presets: ImgproxyPresets
  package let origins: OriginList
  package let sides: SideLimit
  /// What is kept of the pictures.
  package let kept: ImageRequest.Kept

  package init(
    signatures: RequestSignatures = RequestSignatures(),
    presets: ImgproxyPresets = ImgproxyPresets(), origins: OriginList = .all,
    sides: SideLimit = .none, kept: ImageRequest.Kept = .auto
  ) {
    self.signatures = signatures
    self.presets = presets
    self.origins = origins
    self.sides = sides
    self.kept = kept
  }

  /// Reads a target with weserv's query, at any path.
  ///
  /// - Throws: 400, 403 or 422.
  package func weserv(_ target: RequestTarget) throws(RequestRejection) -> ImageQuery {
    try signatures.requireParameter(of: target)
    return try permitted(WeservRequest.query(target.parameters()))
  }

  /// Reads a target with imgproxy's path.
  ///
  /// - Parameter now: decides whether the request has expired.
  /// - Throws: 400, 403, 404 or 422.
  package func imgproxy(
    _ target: RequestTarget, now: WallTime
  ) throws(RequestRejection) -> ImageQuery {
    let path = try ImgproxyPath(target)
    try signatures.require(path.signature, of: path.signedTexts)
    // imgproxy ignores the query, and with it the end of an address that is not escaped.
    guard try target.parameters().parameters.allSatisfy({ IgnoredParameter($0.name) != nil }) else {
      throw .malformedTarget(
        "this path has no query, except v and utm_…; write %3F for a question mark in the address")
    }
    return try permitted(ImgproxyRequest.query(path, presets: presets, now: now))
  }

  private func permitted(_ query: ImageQuery) throws(RequestRejection) -> ImageQuery {
    try sides.require(query.box.longestSide)
    try origins.require(SourceAddress.url(query.request.url))
    for case .picture(let url)? in [query.fallback, query.wait?.substitute] {
      try origins.require(SourceAddress.url(url))
    }
    var query = query
    query.request.redirectOrigins = origins
    query.request.kept = kept
    query.request.variant = sides.bounding(query.request.variant, of: query.box)
    return query
  }
}

/// The check of requests.
extension RequestSignatures {
  /// - Parameter texts: the text as sent, and as its client may have signed it.
  /// - Throws: 403 if signatures are required, and this is none of a text.
  func require(_ signature: String, of texts: [String]) throws(RequestRejection) {
    guard areRequired else { return }
    let given = Array(signature.utf8)
    // All keys are tried, so that the time does not tell which one has signed.
    let matchCount = texts.reduce(0) { count, text in
      count
        + keys.count { key in
          ConstantTime.isEqual(given, Array(self.signature(of: text, by: key).utf8))
        }
    }
    guard matchCount > 0 else {
      throw RequestRejection(
        .forbidden, code: "invalid_signature",
        "the signature is missing or does not match; sign the request with the server's key")
    }
  }

  /// Checks the signature of the query form.
  ///
  /// - Throws: 403 as ``require(_:of:)``.
  func requireParameter(of target: RequestTarget) throws(RequestRejection) {
    guard areRequired else { return }
    let query = SignedQuery(path: target.path, query: target.query)
    try require(query.signature, of: [query.text])
  }
}

/// What a client of the gateway asks for: a picture as a thumbnail, however it spelled that.
package struct ImageQuery: Hashable, Sendable {
  /// The format of the answer.
  package enum Format: Hashable, Sendable {
    /// The best format that the client accepts (RFC 9110, section 12.5.1).
    case negotiated
    /// That of the request's variant.
    case fixed
  }

  /// The server whose form a request has. It decides what an answer says beside the picture.
  package enum Service: Hashable, Sendable {
    case weserv, imgproxy
    /// That of a path below `/id`, with its id.
    case picsum(id: String)
  }

  /// Its URL is normalized, and its variant in range.
  package var request: ImageRequest
  package var service: Service
  package var format = Format.negotiated
  /// What stands in for a picture that failed; `nil` for the failure as JSON.
  package var fallback: Substitute?
  /// `nil` for an answer that waits until the picture is there or has failed.
  package var wait: PictureWait?
  /// How long the client and proxies may keep the answer; `nil` for as long as the store does.
  package var maximumAge: Duration?
  /// When the request ends, and with it the time for which its answer may be kept; `nil` for no such end.
  package var expiresAt: WallTime?
  /// The box that was asked for, which may leave sides open. That of the request's variant leaves none.
  var box = RequestedBox()
  /// The name in `Content-Disposition`; `nil` for no such field.
  package var fileName: String?
  /// Whether browsers save the picture instead of showing it: `Content-Disposition: attachment`, with
  /// ``fileName`` if there is one.
  package var isAttachment = false

  /// Whether scripts of pages of all sites may read the answer.
  var isShared = false

  package init(_ request: ImageRequest, service: Service = .weserv) {
    self.request = request
    self.service = service
  }
}

/// Why the gateway does not accept a request, before any picture is looked for.
package struct RequestRejection: Error, Hashable, Sendable {
  /// 400, 403, 404, 405, 412, 413, 414, 422, 429, 431, 500 or 503.
  package let status: HTTPStatus
  /// A word for programs, such as `invalid_option`.
  package let code: String
  /// What is wrong, with the name of the option at fault, and what to do.
  package let message: String

  package init(_ status: HTTPStatus, code: String, _ message: String) {
    self.status = status
    self.code = code
    self.message = message
  }
}

extension RequestRejection {
  /// The request target is not one that a client should send.
  static func malformedTarget(_ message: String) -> RequestRejection {
    RequestRejection(.badRequest, code: "malformed_target", message)
  }

  /// There is nothing of the name.
  static func notFound(_ message: String) -> RequestRejection {
    RequestRejection(.notFound, code: "not_found", message)
  }

  /// The address of the picture is missing or is no URL.
  static func invalidURL(_ message: String) -> RequestRejection {
    RequestRejection(.badRequest, code: "invalid_url", message)
  }

  /// The value of an option is not one that it takes.
  ///
  /// - Parameter reason: the end of a sentence that begins with the name of the option.
  static func invalidOption(_ name: String, _ reason: String) -> RequestRejection {
    RequestRejection(
      .unprocessableContent, code: "invalid_option", "the option \(shown(name)) \(reason)")
  }

  /// The option exists elsewhere, and this server does not have it.
  static func unsupportedOption(_ name: String) -> RequestRejection {
    RequestRejection(
      .unprocessableContent, code: "unsupported_option",
      "the option \(shown(name)) is not supported; leave it out")
  }

  /// There is no such option.
  ///
  /// - Parameter known: the names of all options.
  static func unknownOption(_ name: String, among known: [String]) -> RequestRejection {
    guard !name.isEmpty else {
      return .malformedTarget("an option has no name; write its name before its value")
    }
    return unknownOption(name, advice: Spelling.suggestion(for: name, among: known))
  }

  /// The same for an option that may be meant otherwise.
  ///
  /// - Parameter advice: the end of a sentence, from its semicolon on; it may be empty.
  static func unknownOption(_ name: String, advice: String) -> RequestRejection {
    RequestRejection(
      .unprocessableContent, code: "unknown_option", "there is no option \(shown(name))\(advice)")
  }

  private static func shown(_ name: String) -> String { Spelling.quoted(name) }
}

extension OriginList {
  /// - Parameter texts: see ``OriginPattern``. No entry at all is ``all``.
  package init(parsing texts: [String]) throws(InvalidValue) {
    var patterns: [OriginPattern] = []
    for text in texts { patterns.append(try Self.pattern(text)) }
    do throws(InvalidFetchOption) {
      try self.init(patterns)
    } catch {
      throw InvalidValue(error.description)
    }
  }

  private static func pattern(_ text: String) throws(InvalidValue) -> OriginPattern {
    try rethrowing(try OriginPattern(parsing: text)) { (error: InvalidFetchOption) in
      InvalidValue("\(Spelling.quoted(text)) is \(error)")
    }
  }

  /// The origins that redirects of a URL may lead to. A URL outside the list is of a job or of the store. The
  /// list did not decide about it, nor does it about its redirects.
  ///
  /// - Parameter url: of a line of a job, or of a record of the store.
  func redirectOrigins(ofListed url: String) -> OriginList {
    // What is no URL is not fetched.
    guard let url = try? ImageURL(line: url), permits(url) else { return .all }
    return self
  }

  /// - Throws: 403.
  func require(_ url: ImageURL) throws(RequestRejection) {
    guard permits(url) else {
      throw RequestRejection(
        .forbidden, code: "blocked_origin",
        "this server does not serve pictures from this address")
    }
  }
}
