import ImgHTTP

extension HTTPAnswer {
  /// The answer with the field that keeps browsers from handing it to pages of other sites (Fetch,
  /// `Cross-Origin-Resource-Policy`).
  var forOwnPages: HTTPAnswer {
    switch self {
    case .response(let response): .response(response.forOwnPages)
    case .repeated(let repeated): .response(repeated.response.forOwnPages)
    case .later(let executor, let prepare):
      .later(executor) { await prepare().forOwnPages }
    }
  }
}

extension HTTPAnswer {
  /// The answer that scripts of pages of all sites may read.
  var forAllPages: HTTPAnswer {
    switch self {
    case .response(let response): .response(response.forAllPages)
    // Those of a picture have the fields.
    case .repeated: self
    case .later(let executor, let prepare):
      .later(executor) { await prepare().forAllPages }
    }
  }
}

extension HTTPResponse {
  /// The fields that weserv sends, which let pages of all sites use an answer: in scripts (Fetch, CORS protocol), where
  /// they isolate themselves (`Cross-Origin-Resource-Policy`), and in measurements (Resource Timing).
  static func addFieldsForAllPages(to fields: inout HTTPFields) {
    fields.add("Access-Control-Allow-Origin", "*")
    fields.add("Cross-Origin-Resource-Policy", "cross-origin")
    fields.add("Timing-Allow-Origin", "*")
  }

  /// The answer to a request that asks what other requests may have (Fetch, CORS-preflight request).
  ///
  /// - Parameter isShared: whether pages of all sites may send them.
  static func preflight(isShared: Bool) -> HTTPResponse {
    var fields: HTTPFields = ["Allow": "GET, HEAD, OPTIONS", "Cache-Control": "no-store"]
    if isShared {
      addFieldsForAllPages(to: &fields)
      fields.add("Access-Control-Allow-Methods", "GET, HEAD")
      fields.add("Access-Control-Allow-Headers", "*")
      fields.add("Access-Control-Max-Age", "86400")
    }
    return HTTPResponse(.noContent, fields: fields)
  }

  fileprivate var forAllPages: HTTPResponse {
    guard fields["Access-Control-Allow-Origin"] == nil else { return self }
    var response = self
    Self.addFieldsForAllPages(to: &response.fields)
    return response
  }

  fileprivate var forOwnPages: HTTPResponse {
    var response = self
    response.fields.add("Cross-Origin-Resource-Policy", "same-origin")
    return response
  }
}
