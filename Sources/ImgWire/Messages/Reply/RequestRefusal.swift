package import ImgModel

/// A request that cannot be served, and why.
package struct RequestRefusal: Hashable, Sendable, Codable {
  package enum Code: String, Sendable, Codable {
    /// No job has that number.
    case unknownJob = "unknown_job"
    /// The job is in a state that does not allow the change.
    case wrongState = "wrong_state"
    /// The coordinator finishes what runs and takes no more.
    case stopping
    /// What was asked makes no sense at this point.
    case invalidRequest = "invalid_request"
    /// The data directory cannot be written or read now.
    case journal
    /// The coordinator cannot serve anybody, or nobody more.
    case unavailable
    /// The client's user may not ask this coordinator.
    case notPermitted = "not_permitted"
  }

  /// The request number of a refusal that is about the connection, which then closes.
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
