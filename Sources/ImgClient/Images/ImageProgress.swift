/// How much of a picture has arrived.
public struct ImageProgress: Hashable, Sendable {
  /// Bytes of the picture that have arrived; at least 1.
  public let receivedByteCount: Int
  /// Bytes of the whole picture; `nil` if the origin does not say.
  public let expectedByteCount: Int?

  /// A progress, such as one for a test.
  public init(receivedByteCount: Int, expectedByteCount: Int?) {
    self.receivedByteCount = receivedByteCount
    self.expectedByteCount = expectedByteCount
  }

  /// From 0 to 1; `nil` if the length is unknown, or what the origin said of it was wrong.
  public var fraction: Double? {
    guard let expectedByteCount, expectedByteCount > 0, receivedByteCount <= expectedByteCount
    else { return nil }
    return Double(receivedByteCount) / Double(expectedByteCount)
  }
}
