package import ImgModel

/// An origin's robots.txt, shared by all processes.
package struct RobotsRecord: Hashable, Sendable {
  /// The relevant part of the file; opaque to the store.
  package let text: String
  package let expiresAt: WallTime

  package init(text: String, expiresAt: WallTime) {
    self.text = text
    self.expiresAt = expiresAt
  }

  package func isExpired(at now: WallTime) -> Bool { expiresAt <= now }

  // MARK: - The record: expiry and text

  private static let headByteCount = 8

  var encoded: [UInt8] {
    var value: [UInt8] = []
    value.append(littleEndian: expiresAt.rawValue)
    return value + text.utf8
  }

  /// - Returns: `nil` for an invalid record.
  init?(_ value: Span<UInt8>) {
    guard value.count >= Self.headByteCount else { return nil }
    self.init(
      text: String(decoding: value.copy().dropFirst(Self.headByteCount), as: UTF8.self),
      expiresAt: WallTime(rawValue: value.littleEndian(at: 0, as: Int64.self)))
  }
}
