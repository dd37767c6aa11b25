import ImgModel

/// Suggestions for mistyped words.
package enum Spelling {
  /// A longer word is not a mistyped one but, for example, a pasted URL. It is not compared, which
  /// bounds the cost.
  private static let maximumLength = 40

  /// The most likely candidate for `word`: the only one that begins with it, or the shortest of those
  /// if the others continue it, or one with at most two typing errors, if at least half of it is right.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    guard (1...maximumLength).contains(word.utf8.count) else { return nil }
    let completions = candidates.filter { $0.hasPrefix(word) }
    if let shortest = completions.min(by: { $0.utf8.count < $1.utf8.count }),
      completions.allSatisfy({ $0.hasPrefix(shortest) })
    {
      return shortest
    }
    let ranked = candidates.map { ($0, distance(Array(word.utf8), Array($0.utf8))) }
    guard let best = ranked.min(by: { $0.1 < $1.1 }) else { return nil }
    return best.1 <= 2 && best.1 * 2 <= best.0.utf8.count ? best.0 : nil
  }

  /// A question to append to an error; empty if no candidate is near.
  package static func suggestion(for word: String, among candidates: [String]) -> String {
    nearest(to: word, among: candidates).map { "; did you mean \($0)?" } ?? ""
  }

  /// `text` for a sentence: in quotes, truncated, and without what could control a terminal.
  package static func quoted(_ text: String) -> String {
    let shown = String(text.unicodeScalars.prefix(maximumLength)).printable
    let isShortened = text.unicodeScalars.count > maximumLength
    return "\"\(shown)\(isShortened ? "…" : "")\""
  }

  /// The same for a text whose end matters, such as the path of a file: it is not truncated.
  package static func quotedWhole(_ text: String) -> String {
    "\"\(text.printable)\""
  }

  /// The number of insertions, deletions, replacements and swaps of neighbours between two words
  /// (optimal string alignment).
  private static func distance(_ left: [UInt8], _ right: [UInt8]) -> Int {
    var beforePrevious: [Int] = []
    var previous = Array(0...right.count)
    for row in left.indices {
      var current = [row + 1]
      for column in right.indices {
        let isSame = left[row] == right[column]
        var cost = min(
          previous[column + 1] + 1, current[column] + 1, previous[column] + (isSame ? 0 : 1))
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          cost = min(cost, beforePrevious[column - 1] + 1)
        }
        current.append(cost)
      }
      beforePrevious = previous
      previous = current
    }
    return previous[right.count]
  }
}
