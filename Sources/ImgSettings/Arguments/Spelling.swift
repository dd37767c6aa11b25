/// Words as people mistype them.
package enum Spelling {
  /// A mistyped word is longer than this only when it is something else, such as a pasted URL; it
  /// is not compared then, so that the cost stays small.
  private static let maximumLength = 40

  /// The candidate that `word` was most likely meant to be: the only one that begins with it, or
  /// one at most two slips away, as long as no more than half of it is wrong.
  package static func nearest(to word: String, among candidates: [String]) -> String? {
    guard (1...maximumLength).contains(word.utf8.count) else { return nil }
    let completions = candidates.filter { $0.hasPrefix(word) }
    if completions.count == 1 { return completions[0] }
    let ranked = candidates.map { ($0, distance(Array(word.utf8), Array($0.utf8))) }
    guard let best = ranked.min(by: { $0.1 < $1.1 }) else { return nil }
    return best.1 <= 2 && best.1 * 2 <= best.0.utf8.count ? best.0 : nil
  }

  /// A question that follows an error, or nothing when no candidate is near.
  package static func suggestion(for word: String, among candidates: [String]) -> String {
    nearest(to: word, among: candidates).map { "; did you mean \($0)?" } ?? ""
  }

  /// `text` for a sentence: in quotes, shortened, and without control characters, which could steer
  /// a terminal.
  package static func quoted(_ text: String) -> String {
    let shown = String(
      String.UnicodeScalarView(
        text.unicodeScalars.prefix(maximumLength).map {
          $0.properties.generalCategory == .control ? "\u{FFFD}" : $0
        }))
    let isShortened = text.unicodeScalars.count > maximumLength
    return "\"\(shown)\(isShortened ? "…" : "")\""
  }

  /// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other
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
