/// Rows of text below headings, in aligned columns.
package struct Table: Sendable {
  package struct Column: Sendable {
    fileprivate let heading: String
    fileprivate let isNumeric: Bool

    /// A column of text, aligned left.
    package static func text(_ heading: String) -> Column {
      Column(heading: heading, isNumeric: false)
    }

    /// A column of numbers, aligned right.
    package static func number(_ heading: String) -> Column {
      Column(heading: heading, isNumeric: true)
    }
  }

  private static let gap = "  "

  private let columns: [Column]
  private var rows: [[String]] = []

  package init(_ columns: [Column]) {
    self.columns = columns
  }

  /// Adds a row with one cell for each column. Control characters in cells are replaced.
  package mutating func addRow(_ cells: [String]) {
    precondition(cells.count == columns.count, "a row has a cell for each column")
    rows.append(cells.map(HumanText.printable))
  }

  /// All lines, each with a line feed and without trailing spaces.
  package var rendered: String {
    let lines = [columns.map(\.heading)] + rows
    let widths = columns.indices.map { column in
      lines.map { $0[column].count }.max() ?? 0
    }
    return lines.map { render($0, widths: widths) + "\n" }.joined()
  }

  private func render(_ cells: [String], widths: [Int]) -> String {
    let padded = columns.indices.map { column in
      let space = String(repeating: " ", count: widths[column] - cells[column].count)
      return columns[column].isNumeric ? space + cells[column] : cells[column] + space
    }
    let line = padded.joined(separator: Self.gap)
    return String(line.reversed().drop { $0 == " " }.reversed())
  }
}
