import ImgClient
package import ImgModel

/// Reads requests for pictures: checks the signature, reads the options, and checks the sides and the addresses.
package struct ImageQueries: Sendable {
  package let signatures: RequestSignatures
  package let presets: ImgproxyPresets
  package let origins: OriginList
  package let sides: SideLimit

  package init(
    signatures: RequestSignatures = RequestSignatures(),
    presets: ImgproxyPresets = ImgproxyPresets(), origins: OriginList = .all,
    sides: SideLimit = .none
  ) {
    self.signatures = signatures
    self.presets = presets
    self.origins = origins
    self.sides = sides
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
    if case .picture(let url) = query.fallback { try origins.require(SourceAddress.url(url)) }
    var query = query
    query.request.redirectOrigins = origins
    query.request.variant = sides.bounding(query.request.variant, of: query.box)
    return query
  }
}
