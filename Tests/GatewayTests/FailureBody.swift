import FoundationEssentials
import TestHTTP

/// The body of a response that says why there is no picture.
struct FailureBody: Decodable {
  struct Details: Decodable {
    let code: String
    let message: String
    let retryable: Bool
  }

  let error: Details
}

extension RawResponse {
  /// The code of a failure.
  func failureCode() throws -> String { try decoded(FailureBody.self).error.code }

  func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try JSONDecoder().decode(type, from: Data(body))
  }
}
