import ImgHTTP

extension HTTPResponse {
  /// A value as JSON, which nothing keeps.
  static func json(_ value: some Encodable, _ status: HTTPStatus = .ok) -> HTTPResponse {
    HTTPResponse(
      status,
      fields: [
        "Content-Type": "application/json", "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
      ],
      body: .bytes(GatewayJSON.bytes(of: value)))
  }

  /// Plain text, which nothing keeps.
  static func text(
    _ text: String, _ status: HTTPStatus = .ok, type: String = "text/plain; charset=utf-8"
  ) -> HTTPResponse {
    HTTPResponse(
      status,
      fields: [
        "Content-Type": type, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
      ],
      body: .bytes(Array(text.utf8)))
  }
}
