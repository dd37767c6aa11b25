/// Where the rows of a GIF's frame are stored, while only the first ones are there. A row that an
/// interlaced frame lacks is shown as the one above it.
struct GIFRows {
  /// First row and step of each pass (GIF89a appendix E).
  private static let passes = [(0, 8), (4, 8), (2, 4), (1, 2)]

  private let height: Int
  /// For each row the stored row that is shown there; `nil` for none.
  private let storedRows: [Int?]
  /// Whether they show something of the whole frame, or, if it is not interlaced, its first rows.
  let showFrame: Bool

  init(height: Int, storedCount: Int, isInterlaced: Bool) {
    self.height = height
    var rows = [Int?](repeating: nil, count: height)
    let order = isInterlaced ? Self.interlacedOrder(height: height) : Array(0..<height)
    for (stored, row) in order.prefix(storedCount).enumerated() { rows[row] = stored }
    let firstPassCount = (height + Self.passes[0].1 - 1) / Self.passes[0].1
    showFrame = storedCount >= (isInterlaced ? firstPassCount : 1)
    if isInterlaced {
      for row in rows.indices.dropFirst() where rows[row] == nil { rows[row] = rows[row - 1] }
    }
    storedRows = rows
  }

  func storedRow(for row: Int) -> Int? { storedRows[row] }

  private static func interlacedOrder(height: Int) -> [Int] {
    passes.flatMap { first, step in Array(stride(from: first, to: height, by: step)) }
  }
}
