package import ImgHTTP

extension Gateway {
  /// A failure, as for requests that the gateway refuses itself.
  package func response(to refusal: RequestRefusal) -> HTTPResponse {
    FailureReport(RequestRejection(refusal)).response()
  }
}

extension RequestRejection {
  fileprivate init(_ refusal: RequestRefusal) {
    let code =
      switch refusal.status {
      case .contentTooLarge: "unexpected_body"
      case .uriTooLong: "too_long_target"
      case .requestHeaderFieldsTooLarge: "too_large_header"
      case .serviceUnavailable: "too_many_requests"
      case .internalServerError: "internal"
      default: "malformed_request"
      }
    self.init(refusal.status, code: code, refusal.reason)
  }
}
