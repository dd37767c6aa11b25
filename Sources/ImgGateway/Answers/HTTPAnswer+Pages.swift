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

extension HTTPResponse {
  fileprivate var forOwnPages: HTTPResponse {
    var response = self
    response.fields.add("Cross-Origin-Resource-Policy", "same-origin")
    return response
  }
}
