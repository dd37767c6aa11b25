/// How much of the body of a response has arrived.
package struct BodyProgress: Hashable, Sendable, Codable {
  /// Of a resumed download, with the bytes that were there before.
  package let receivedByteCount: Int
  /// The length of the whole body; `nil` if the origin does not declare it.
  package let expectedByteCount: Int?

  package init(receivedByteCount: Int, expectedByteCount: Int? = nil) {
    self.receivedByteCount = receivedByteCount
    self.expectedByteCount = expectedByteCount
  }

  private enum CodingKeys: String, CodingKey {
    case receivedByteCount = "received"
    case expectedByteCount = "expected"
  }
}
