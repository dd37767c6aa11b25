package import ImgModel

/// What an origin's robots.txt says, as all processes remember it.
package struct RobotsRecord: Hashable, Sendable {
  /// What of the file matters here; opaque to the store.
  package let text: String
  package let expiresAt: WallTime

  package init(text: String, expiresAt: WallTime) {
    self.text = text
    self.expiresAt = expiresAt
  }

  package func isExpired(at now: WallTime) -> Bool { expiresAt <= now }

  // MARK: - As it is stored: the expiry, the text

  private static let headByteCount = 8

  var encoded: [UInt8] {
    var value: [UInt8] = []
    value.append(littleEndian: expiresAt.rawValue)
    return value + text.utf8
  }

  /// - Returns: `nil` for what is no such record.
  init?(_ value: Span<UInt8>) {
    guard value.count >= Self.headByteCount else { return nil }
    self.init(
      text: String(decoding: value.copy().dropFirst(Self.headByteCount), as: UTF8.self),
      expiresAt: WallTime(rawValue: value.littleEndian(at: 0, as: Int64.self)))
  }
}
