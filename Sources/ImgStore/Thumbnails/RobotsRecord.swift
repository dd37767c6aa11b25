package import ImgWire

/// What an origin's robots.txt says, as all processes remember it.
package struct RobotsRecord: Hashable, Sendable {
  /// What of the file matters here; opaque to the store.
  package let text: String
  /// Why the file could not be had, in words for people; `nil` when it could.
  package let trouble: String?
  package let expiresAt: WallTime

  package init(text: String, trouble: String?, expiresAt: WallTime) {
    self.text = text
    self.trouble = trouble
    self.expiresAt = expiresAt
  }

  package func isExpired(at now: WallTime) -> Bool { expiresAt <= now }

  // MARK: - As it is stored: the expiry, how long the trouble's words are, these, the text

  private static let headByteCount = 12

  var encoded: [UInt8] {
    var value: [UInt8] = []
    value.append(littleEndian: expiresAt.rawValue)
    let words = Array((trouble ?? "").utf8)
    value.append(littleEndian: UInt32(words.count))
    return value + words + text.utf8
  }

  /// - Returns: `nil` for what is no such record.
  init?(_ value: Span<UInt8>) {
    guard value.count >= Self.headByteCount else { return nil }
    let wordCount = Int(value.littleEndian(at: 8, as: UInt32.self))
    let rest = value.copy().dropFirst(Self.headByteCount)
    guard wordCount <= rest.count else { return nil }
    let words = String(decoding: rest.prefix(wordCount), as: UTF8.self)
    self.init(
      text: String(decoding: rest.dropFirst(wordCount), as: UTF8.self),
      trouble: words.isEmpty ? nil : words,
      expiresAt: WallTime(rawValue: value.littleEndian(at: 0, as: Int64.self)))
  }
}
