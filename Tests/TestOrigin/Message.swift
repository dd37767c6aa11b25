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
  package var delivery: Delivery

  /// How long the client waits for the status line.
  package var headerDelay: Duration

  package init(
    status: Int = 200,
    headers: [Header] = [],
    body: [UInt8] = [],
    delivery: Delivery = .whole,
    headerDelay: Duration = .zero
  ) {
    self.status = status
    self.headers = headers
    self.body = body
    self.delivery = delivery
    self.headerDelay = headerDelay
  }
}
