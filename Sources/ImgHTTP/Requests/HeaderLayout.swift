/// Checks that the parts of a header which libmicrohttpd reports are all that the client has sent.
///
/// libmicrohttpd parses a header in its place, and accepts more than RFC 9112 allows: it drops a field without
/// a name and what follows a zero byte, joins a folded line to a name, and takes a line feed for a line end. A
/// proxy in front may read such a header otherwise (section 11.2). In a valid header, each part begins where
/// its predecessor and one separator end. Any other header is refused.
struct HeaderLayout {
  /// Where the next part begins.
  private var position: UInt
  private var isValid = true

  /// Takes the request line.
  init(method: Range<UInt>, target: Range<UInt>, version: Range<UInt>) {
    position = method.lowerBound
    take(method, separator: 1)
    take(target, separator: 1)
    take(version, separator: 2)
  }

  /// Takes the next field. Before the value there may be white space.
  mutating func takeField(name: Range<UInt>, value: Range<UInt>) {
    take(name, separator: 1)
    isValid = isValid && value.lowerBound >= position
    position = value.upperBound &+ 2
  }

  /// Whether all is valid, and only the empty line remains.
  ///
  /// - Parameter end: where the header ends.
  func isComplete(at end: UInt) -> Bool {
    isValid && position &+ 2 == end
  }

  private mutating func take(_ part: Range<UInt>, separator: UInt) {
    isValid = isValid && part.lowerBound == position
    position = part.upperBound &+ separator
  }
}
