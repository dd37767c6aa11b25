/// Bytes of a file, of which some may not be at hand yet.
package protocol ByteSource {
  /// Bytes of the whole file; `nil` while that is unknown.
  var knownByteCount: Int? { get }

  /// The bytes of a range; `nil` unless all of them are at hand.
  func bytes(in range: Range<Int>) -> [UInt8]?
}

/// A file that is at hand as a whole.
package struct WholeBytes: ByteSource, Sendable {
  private let bytes: [UInt8]

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  package var knownByteCount: Int? { bytes.count }

  package func bytes(in range: Range<Int>) -> [UInt8]? {
    guard range.lowerBound >= 0, range.upperBound <= bytes.count else { return nil }
    return Array(bytes[range])
  }
}
