/// The order in which the lines of a list start.
package enum LineOrder: String, CaseIterable, Sendable, Codable {
  /// The first line first.
  case firstInFirstOut = "fifo"
  /// The last line first: for a list that grows at its end.
  case lastInFirstOut = "lifo"
}

/// A position is the index of a line in starting order. Each function is its own inverse.
extension LineOrder {
  /// The line at a position of a list of `total` lines, or the position of a line.
  package func line(at position: Int, of total: Int) -> Int {
    switch self {
    case .firstInFirstOut: position
    case .lastInFirstOut: total - 1 - position
    }
  }

  /// The lines at a range of positions, or the positions of a range of lines.
  package func lines(at positions: Range<Int>, of total: Int) -> Range<Int> {
    switch self {
    case .firstInFirstOut: positions
    case .lastInFirstOut: total - positions.upperBound..<total - positions.lowerBound
    }
  }
}
