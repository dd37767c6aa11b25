/// The number of a decoder. Its worker chooses it and counts up, so no two decoders of a worker have
/// the same number.
package struct DecoderID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  package static func < (left: Self, right: Self) -> Bool {
    left.rawValue < right.rawValue
  }
}
