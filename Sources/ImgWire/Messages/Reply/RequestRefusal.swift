package import ImgModel

/// The reason why the coordinator refuses a request.
package struct RequestRefusal: Hashable, Sendable, Codable {
  package enum Code: String, Sendable, Codable {
    /// No job has that number.
    case unknownJob = "unknown_job"
    /// The job's state does not allow the change.
    case wrongState = "wrong_state"
    /// The coordinator drains and accepts no more requests.
    case stopping
    /// The request is not valid at this point.
    case invalidRequest = "invalid_request"
    /// The coordinator cannot read or write the job journal.
    case journal
    /// The coordinator cannot serve any client, or has too many.
    case unavailable
    /// The client's user may not use this coordinator.
    case notPermitted = "not_permitted"
  }

  /// The request number of a refusal that concerns the connection, which then closes.
  package static let wholeConnection = RequestID(rawValue: 0)

  package let id: RequestID
  package let code: Code
  /// A sentence for people.
  package let message: String

  package init(id: RequestID, code: Code, message: String) {
    self.id = id
    self.code = code
    self.message = message
  }
}
