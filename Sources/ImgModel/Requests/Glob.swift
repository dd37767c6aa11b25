/// A pattern of bytes in which some places stand for any number of any bytes.
package struct Glob: Hashable, Sendable {
  /// `nil` for any bytes, also none.
  private let tokens: [UInt8?]

  /// - Parameter tokens: bytes, and `nil` for any number of any bytes.
  package init(_ tokens: [UInt8?]) {
    self.tokens = tokens
  }

  /// A text in which each `*` stands for any text.
  package init(_ text: String) {
    self.init(text.utf8.map { $0 == UInt8(ascii: "*") ? nil : $0 })
  }

  /// Whether the pattern stands for the whole of `bytes`. Only the last place of any bytes is ever
  /// lengthened, so that the time stays below the product of both lengths.
  package func matches(_ bytes: [UInt8]) -> Bool {
    var steps = Int.max
    return matches(bytes, within: &steps) ?? false
  }

  /// The same for a pattern of somebody who may want it to take long.
  ///
  /// - Parameter steps: how many may be taken; those that were are taken off.
  /// - Returns: `nil` when they were too few.
  package func matches(_ bytes: [UInt8], within steps: inout Int) -> Bool? {
    var position = 0
    var place = 0
    /// Where to go on when nothing fits any more.
    var retry: (position: Int, place: Int)?
    while position < bytes.count {
      guard steps > 0 else { return nil }
      steps -= 1
      if place < tokens.count, tokens[place] == nil {
        place += 1
        retry = (position, place)
      } else if place < tokens.count, tokens[place] == bytes[position] {
        position += 1
        place += 1
      } else if let last = retry {
        position = last.position + 1
        place = last.place
        retry?.position = position
      } else {
        return false
      }
    }
    return tokens[place...].allSatisfy { $0 == nil }
  }
}
