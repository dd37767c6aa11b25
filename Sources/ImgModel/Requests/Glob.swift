/// A byte pattern with wildcards.
package struct Glob: Hashable, Sendable {
  /// `nil` is a wildcard.
  private let tokens: [UInt8?]

  /// - Parameter tokens: bytes, and `nil` for a wildcard that matches any number of bytes.
  package init(_ tokens: [UInt8?]) {
    self.tokens = tokens
  }

  /// A pattern in which each `*` matches any text.
  package init(_ text: String) {
    self.init(text.utf8.map { $0 == UInt8(ascii: "*") ? nil : $0 })
  }

  /// Whether the pattern matches all of `bytes`. Backtracks to the last wildcard only, so the number
  /// of steps is at most the product of both lengths.
  package func matches(_ bytes: [UInt8]) -> Bool {
    var steps = Int.max
    return matches(bytes, within: &steps) ?? false
  }

  /// Matches an untrusted pattern with a bound on the time.
  ///
  /// - Parameter steps: the budget of steps; each step reduces it.
  /// - Returns: `nil` if the budget is exhausted.
  package func matches(_ bytes: [UInt8], within steps: inout Int) -> Bool? {
    var position = 0
    var token = 0
    /// Where to resume after a mismatch: the last wildcard then matches one more byte.
    var backtrack: (position: Int, token: Int)?
    while position < bytes.count {
      guard steps > 0 else { return nil }
      steps -= 1
      if token < tokens.count, tokens[token] == nil {
        token += 1
        backtrack = (position, token)
      } else if token < tokens.count, tokens[token] == bytes[position] {
        position += 1
        token += 1
      } else if let last = backtrack {
        position = last.position + 1
        token = last.token
        backtrack?.position = position
      } else {
        return false
      }
    }
    return tokens[token...].allSatisfy { $0 == nil }
  }
}
