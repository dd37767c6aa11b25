/// In which order the lines of one list leave it.
package enum LineOrder: String, CaseIterable, Sendable, Codable {
  /// The first line first.
  case firstInFirstOut = "fifo"
  /// The last line first: for a list that grew at its end.
  case lastInFirstOut = "lifo"
}

/// Positions count the lines of a list in the order in which they leave it.
extension LineOrder {
  /// The line at a position of a list of `total` lines; as well the position of a line.
  package func line(at position: Int, of total: Int) -> Int {
    switch self {
    case .firstInFirstOut: position
    case .lastInFirstOut: total - 1 - position
    }
  }

  /// The lines at neighbouring positions; as well the positions of neighbouring lines.
  package func lines(at positions: Range<Int>, of total: Int) -> Range<Int> {
    switch self {
    case .firstInFirstOut: positions
    case .lastInFirstOut: total - positions.upperBound..<total - positions.lowerBound
    }
  }
}
