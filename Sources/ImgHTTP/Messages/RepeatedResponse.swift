import CMicroHTTPD

/// A response that is sent many times, with the same bytes as its body. Its fields are checked and handed to
/// libmicrohttpd once.
package final class RepeatedResponse: Sendable {
  package let response: HTTPResponse
  /// `nil` if libmicrohttpd does not take the response. It is sent as any other then, which reports that.
  private let outgoing: OutgoingResponse?

  package init(_ response: HTTPResponse) {
    self.response = response
    outgoing = Self.outgoing(response)
  }

  private static func outgoing(_ response: HTTPResponse) -> OutgoingResponse? {
    // A stream can be sent once.
    guard case .bytes(let body) = response.body, let outgoing = OutgoingResponse(.bytes(body)),
      outgoing.add(response.fields, isLast: false)
    else { return nil }
    return outgoing
  }

  /// - Returns: `nil` if it must be sent as any other response.
  func queue(on connection: OpaquePointer) -> MHD_Result? {
    unsafe outgoing?.queue(status: response.status, on: connection)
  }
}
