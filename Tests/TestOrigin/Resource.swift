/// A file with validators, served by the rules of conditional and range requests (RFC 9110,
/// sections 13 and 14).
///
/// Dates are compared as text: a client that echoes what it got matches, any other date does not.
/// Several ranges in one request are answered with the whole body, which section 14.2 allows.
package struct Resource: Sendable {
  package var body: [UInt8]
  package var contentType: String

  /// The strong entity tag, quotes included.
  package var entityTag: String?

  /// The `Last-Modified` date in the form it is sent.
  package var lastModified: String?

  package var acceptsRanges: Bool

  /// How a 200 or 206 goes out; positions count within the bytes of that answer. A 304 can only be
  /// held.
  package var delivery: Delivery

  /// Sent with every answer, such as `Cache-Control`.
  package var headers: [Header]

  package init(
    _ body: [UInt8],
    contentType: String = "image/jpeg",
    entityTag: String? = nil,
    lastModified: String? = nil,
    acceptsRanges: Bool = true,
    delivery: Delivery = .whole,
    headers: [Header] = []
  ) {
    self.body = body
    self.contentType = contentType
    self.entityTag = entityTag
    self.lastModified = lastModified
    self.acceptsRanges = acceptsRanges
    self.delivery = delivery
    self.headers = headers
  }

  func response(to request: Request) -> Response {
    if isUnchanged(for: request) {
      return Response(
        status: 304, headers: describingHeaders, delivery: delivery == .hold ? .hold : .whole)
    }
    switch requestedRange(of: request) {
    case .whole:
      return Response(
        headers: describingHeaders + [Header("Content-Type", contentType)],
        body: body, delivery: delivery)
    case .part(let range):
      let position = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.count)"
      return Response(
        status: 206,
        headers: describingHeaders
          + [Header("Content-Type", contentType), Header("Content-Range", position)],
        body: Array(body[range]), delivery: delivery)
    case .unsatisfiable:
      return Response(status: 416, headers: [Header("Content-Range", "bytes */\(body.count)")])
    }
  }

  private enum RequestedRange {
    case whole
    case part(Range<Int>)
    case unsatisfiable
  }

  private var describingHeaders: [Header] {
    var result = headers
    if let entityTag { result.append(Header("ETag", entityTag)) }
    if let lastModified { result.append(Header("Last-Modified", lastModified)) }
    if acceptsRanges { result.append(Header("Accept-Ranges", "bytes")) }
    return result
  }

  /// Section 13.2.2: an entity tag, where one is asked about, decides alone.
  private func isUnchanged(for request: Request) -> Bool {
    if let candidates = request.headers["if-none-match"] {
      guard let entityTag else { return false }
      return candidates == "*"
        || candidates.split(separator: ",").contains { candidate in
          let tag = candidate.trimmingSpaces
          return tag == entityTag || tag == "W/" + entityTag
        }
    }
    guard let date = request.headers["if-modified-since"] else { return false }
    return date == lastModified
  }

  private func requestedRange(of request: Request) -> RequestedRange {
    guard acceptsRanges, request.method == "GET", let field = request.headers["range"] else {
      return .whole
    }
    if let condition = request.headers["if-range"],
      condition != entityTag, condition != lastModified
    {
      return .whole
    }
    return range(from: field)
  }

  /// Reads `bytes=first-last`, `bytes=first-` or `bytes=-suffix`; what has another form is ignored,
  /// as section 14.2 asks.
  private func range(from field: String) -> RequestedRange {
    let unit = "bytes="
    guard field.hasPrefix(unit) else { return .whole }
    let bounds = field.dropFirst(unit.count).split(
      separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard bounds.count == 2 else { return .whole }
    switch (Int(bounds[0]), Int(bounds[1])) {
    case (let first?, let last?) where first <= last:
      return first < body.count ? .part(first..<min(last + 1, body.count)) : .unsatisfiable
    case (let first?, nil) where bounds[1].isEmpty:
      return first < body.count ? .part(first..<body.count) : .unsatisfiable
    case (nil, let suffix?) where bounds[0].isEmpty:
      let length = min(suffix, body.count)
      return length > 0 ? .part(body.count - length..<body.count) : .unsatisfiable
    default:
      return .whole
    }
  }
}

extension Substring {
  fileprivate var trimmingSpaces: Substring {
    let head = drop { $0 == " " }
    return head.lastIndex { $0 != " " }.map { head[...$0] } ?? ""
  }
}
