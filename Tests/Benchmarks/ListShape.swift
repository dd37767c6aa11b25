/// What becomes of the lines of a long list. Each goes the whole way through coordinator, worker
/// and journal, and none needs a network.
enum ListShape: String, CaseIterable, Encodable {
  /// Looked up and found: the thumbnails are in the store, and more of them than are ever under
  /// way at once, so that no line joins another.
  case stored
  /// Looked up, given to a worker to fetch, and refused there for its address: all are distinct.
  case refused

  /// How many thumbnails the lines of a list share.
  private static let storedMaximum = 20_000

  /// How many distinct URLs a list has.
  func distinctCount(lineCount: Int) -> Int {
    switch self {
    case .stored: min(lineCount, Self.storedMaximum)
    case .refused: lineCount
    }
  }
}
