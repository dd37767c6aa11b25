import ImgModel
import ImgSettings

/// A table in place of a list: CSV or TSV, with URLs in a column. A line with other text than a URL would be requested
/// as a whole.
package struct DelimitedTable: Hashable, Sendable {
  private let separator: Character
  /// The column of the URLs, from 0.
  private let column: Int
  private let hasHeader: Bool

  /// The records that decide.
  private static let sampleCount = 20
  private static let separators: [Character] = ["\t", ",", ";"]

  /// - Parameter lines: the beginning of a list.
  /// - Returns: `nil` for a list. Its URLs may contain commas and semicolons.
  package init?(_ lines: [Substring]) {
    let entries = lines.filter { $0.first != "#" && !$0.allSatisfy(\.isWhitespace) }
    for separator in Self.separators {
      let records = Record.records(in: entries, separator: separator).prefix(Self.sampleCount)
      let header = records.first.flatMap { $0.isHeader ? $0 : nil }
      let rows = header == nil ? records : records.dropFirst()
      var counts: [Int: (rows: Int, certain: Int)] = [:]
      for row in rows {
        guard let column = row.column,
          let isCertain = row.isTable(header: header, separator: separator)
        else { continue }
        counts[column, default: (0, 0)].rows += 1
        counts[column, default: (0, 0)].certain += isCertain ? 1 : 0
      }
      guard let (column, count) = counts.max(by: { $0.value.rows < $1.value.rows }),
        count.rows * 2 > rows.count, count.rows > 1 || count.certain > 0
      else { continue }
      self.separator = separator
      self.column = column
      hasHeader = header != nil
      return
    }
    return nil
  }

  /// What it is, and how it becomes a list.
  ///
  /// - Parameter name: of the list.
  func advice(for name: String) -> String {
    let file = ListPlace.isURL(name) || name == "standard input" ? "FILE" : name.shellWord
    return
      "\(separator == "\t" ? "TSV" : "CSV"), and a list has one URL a line; this makes one of column "
      + "\(column + 1): "
      + Self.recipe(column: column, separator: separator, hasHeader: hasHeader, file: file)
  }

  /// For a table whose columns are not known.
  static let advice =
    "a list has one URL a line; this makes one of the first column of a CSV with a header: "
    + recipe(column: 0, separator: ",", hasHeader: true, file: "FILE")

  /// Python's reader knows quotes, and captions with commas and line breaks.
  private static func recipe(
    column: Int, separator: Character, hasHeader: Bool, file: String
  ) -> String {
    let delimiter =
      switch separator {
      case ",": ""
      case "\t": #", delimiter="\t""#
      default: #", delimiter="\#(separator)""#
      }
    return "python3 -c 'import csv, sys; r = csv.reader(sys.stdin\(delimiter)); "
      + (hasHeader ? "next(r); " : "")
      + "[print(*x[\(column):\(column + 1)]) for x in r]' < \(file) > list.txt"
  }
}

/// The fields of a record, without the quotes around them.
private struct Record {
  let fields: [String]
  /// The first field with a URL.
  let column: Int?
  private let isQuoted: Bool

  /// What the path of a picture ends with.
  private static let pictureSuffixes = [
    ".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif", ".heic", ".tif", ".tiff", ".svg", ".bmp",
    ".jxl",
  ]

  /// A field in quotes may contain separators and line feeds (RFC 4180).
  static func records(in lines: [Substring], separator: Character) -> [Record] {
    var records: [Record] = []
    var open: String?
    for line in lines {
      let text = open.map { "\($0) \(line)" } ?? String(line)
      let isComplete = text.count { $0 == "\"" }.isMultiple(of: 2)
      open = isComplete ? nil : text
      if isComplete { records.append(Record(text, separator: separator)) }
    }
    return records + (open.map { [Record($0, separator: separator)] } ?? [])
  }

  private init(_ text: String, separator: Character) {
    var isInQuotes = false
    let parts = text.split(omittingEmptySubsequences: false) { character in
      if character == "\"" { isInQuotes.toggle() }
      return character == separator && !isInQuotes
    }
    fields = parts.map { part in
      String(
        part.drop { $0 == " " || $0 == "\"" }.reversed().drop { $0 == " " || $0 == "\"" }.reversed()
      )
    }
    column = fields.firstIndex(where: ListPlace.isURL)
    isQuoted = text.first == "\""
  }

  /// Whether it can be the first of a table: names of columns.
  var isHeader: Bool {
    fields.count > 1 && !fields.contains { $0.contains("/") || $0.contains(":") }
  }

  /// Whether it is one of a table; `nil` for a line of a list. A URL may contain a comma or a semicolon, so that one
  /// ends before it for certain only if it has quotes, if the URL is not the first field, or if a header has the same
  /// fields. A single line with the name of a picture before the separator decides nothing.
  func isTable(header: Record?, separator: Character) -> Bool? {
    guard fields.count > 1, let column else { return nil }
    if separator == "\t" || column > 0 || isQuoted || header?.fields.count == fields.count {
      return true
    }
    let path = fields[0].lowercased()
    let isComplete = Self.pictureSuffixes.contains(where: path.hasSuffix)
    let hasSpace = fields.dropFirst().contains { $0.contains(" ") }
    return (isComplete || hasSpace) && !fields[1].contains("=") ? false : nil
  }
}
