import ImgClient
import ImgModel

/// A table among the lists: CSV (RFC 4180), or the same with tabs or semicolons, with a column of URLs.
package struct DelimitedTable: Sendable {
  /// `nil` if it has one column: a comma is a part of its URLs.
  private let separator: UInt8?
  /// The column of the URLs, from 0.
  private let column: Int
  /// The names of the columns; `nil` if the first record is none of names.
  private let names: [String]?
  /// The columns that stay with the URLs.
  private let kept: [(name: String, index: Int)]

  private static let newline = UInt8(ascii: "\n")
  private static let quote = UInt8(ascii: "\"")
  private static let separators = [UInt8(ascii: "\t"), UInt8(ascii: ","), UInt8(ascii: ";")]
  /// What Excel writes as the first line: the separator follows.
  private static let separatorPrefix = Array("sep=".utf8)

  /// Recognises a table by what it has.
  ///
  /// - Parameter format: names the columns, if it does.
  /// - Returns: `nil` for a list. Its URLs may contain commas and semicolons.
  /// - Throws: ``ListFormatError`` for a table without the column, or with several.
  init?(in head: ListHead, as format: ListFormat) throws(ListFormatError) {
    for separator in Self.separators(of: head) {
      let records = Self.sample(of: head, separatedBy: separator)
      guard Self.isCertain(records, separator) else { continue }
      try self.init(records, separatedBy: separator, as: format)
      return
    }
    return nil
  }

  /// Takes a list for a table, because it is named one.
  ///
  /// - Parameter separator: `nil` for the one that parts most of the first record.
  /// - Throws: ``ListFormatError`` for a table without the column, or with several.
  init(
    of head: ListHead, separatedBy separator: UInt8?, as format: ListFormat
  ) throws(ListFormatError) {
    let separator = separator ?? Self.separator(of: head)
    let records = Self.sample(of: head, separatedBy: separator)
    let hasColumns = records.first.map { $0.texts.count > 1 } ?? false
    try self.init(records, separatedBy: hasColumns ? separator : nil, as: format)
  }

  private init(
    _ records: [Record], separatedBy separator: UInt8?, as format: ListFormat
  ) throws(ListFormatError) {
    let names = records.first.flatMap { $0.isHeader ? $0.texts : nil }
    let rows = names == nil ? records : Array(records.dropFirst())
    let width = max(names?.count ?? 0, rows.map(\.width).max() ?? 0, 1)
    self.separator = separator
    self.names = names
    if let name = format.urlColumn, let number = Self.number(name, among: names) {
      guard number <= width else { throw .noColumn(name, among: names ?? []) }
      column = number - 1
    } else {
      if let names, let wide = rows.first(where: { $0.width > names.count }),
        rows.count(where: { $0.width > names.count }) * 2 > rows.count
      {
        throw .shortHeader(names.count, fieldCount: wide.width)
      }
      column = try Self.column(named: format.urlColumn, names, rows)
    }
    kept = try Self.kept(format.columns, names, width: width, besides: column)
  }

  /// The number of a column from 1, unless that is a name.
  private static func number(_ text: String, among names: [String]?) -> Int? {
    Int(text).flatMap { $0 > 0 && names?.contains(text) != true ? $0 : nil }
  }

  /// The columns that stay with the URLs. One without a name, or with that of another, is named by its number.
  private static func kept(
    _ columns: ListFormat.Columns, _ names: [String]?, width: Int, besides urlColumn: Int
  ) throws(ListFormatError) -> [(name: String, index: Int)] {
    var kept: [(name: String, index: Int)] = []
    func keep(_ index: Int, as name: String?) {
      let isNew = name.map { name in !name.isEmpty && !kept.contains { $0.name == name } } ?? false
      kept.append((isNew ? name ?? "" : "\(index + 1)", index))
    }
    switch columns {
    case .none: break
    case .all:
      for index in 0..<width where index != urlColumn {
        keep(index, as: names.flatMap { $0.indices.contains(index) ? $0[index] : nil })
      }
    case .named(let wanted):
      for name in wanted where !kept.contains(where: { $0.name == name }) {
        if let number = number(name, among: names), number <= width {
          keep(
            number - 1, as: names.flatMap { $0.indices.contains(number - 1) ? $0[number - 1] : nil }
          )
        } else {
          kept.append((name, try column(named: name, among: names)))
        }
      }
    }
    try ListFormatError.require(kept.map(\.name))
    return kept
  }

  private static func column(
    named name: String, among names: [String]?
  ) throws(ListFormatError) -> Int {
    guard
      let named = names?.firstIndex(of: name)
        ?? names?.firstIndex(where: { $0.lowercased() == name.lowercased() })
    else { throw .noColumn(name, among: names ?? []) }
    return named
  }

  /// Whether a list begins with names of columns, of which one may be that of the URLs.
  static func hasHeader(_ head: ListHead) -> Bool {
    sample(of: head, separatedBy: separator(of: head)).first?.isHeader ?? false
  }

  private static func sample(of head: ListHead, separatedBy separator: UInt8?) -> [Record] {
    var records: [Record] = []
    var reader = TableRecords(separator: separator)
    let add: (ArraySlice<UInt8>, Int) -> Void = { bytes, _ in
      records.append(Record(bytes, separatedBy: separator))
    }
    reader.feed(head.bytes, add)
    if head.isWhole || records.isEmpty { reader.finish(add) }
    return records.filter { $0.texts != [""] && !$0.isComment }
  }

  /// Those that a list may have.
  private static func separators(of head: ListHead) -> [UInt8] {
    guard head.bytes.starts(with: separatorPrefix),
      let named = head.bytes.dropFirst(separatorPrefix.count).first
    else { return separators }
    return [named]
  }

  /// The separator that parts most of the first record.
  private static func separator(of head: ListHead) -> UInt8? {
    separators(of: head)
      .max { fieldCount(of: head, separatedBy: $0) < fieldCount(of: head, separatedBy: $1) }
  }

  private static func fieldCount(of head: ListHead, separatedBy separator: UInt8) -> Int {
    sample(of: head, separatedBy: separator).first?.texts.count ?? 0
  }

  // MARK: - Recognition

  /// Whether most records are those of a table. A URL may contain a comma or a semicolon, so that one ends before it
  /// for certain only if it has quotes, if the URL is not the first field, or if a header has the same fields.
  private static func isCertain(_ records: [Record], _ separator: UInt8) -> Bool {
    let header = records.first.flatMap { $0.isHeader && $0.texts.count > 1 ? $0 : nil }
    let rows = header == nil ? records[...] : records.dropFirst()
    if let named = header.flatMap({ URLColumnName.first(in: $0.texts) }),
      rows.contains(where: { $0.urlColumns.contains(named) })
    {
      return true
    }
    var counts: [Int: (rows: Int, certain: Int)] = [:]
    for row in rows {
      guard let column = row.urlColumns.first,
        let isCertain = row.isTable(header: header, separator: separator)
      else { continue }
      counts[column, default: (0, 0)].rows += 1
      counts[column, default: (0, 0)].certain += isCertain ? 1 : 0
    }
    guard let count = counts.values.max(by: { $0.rows < $1.rows }) else { return false }
    return count.rows * 2 > rows.count && (count.rows > 1 || count.certain > 0)
  }

  // MARK: - The column

  private static func column(
    named name: String?, _ names: [String]?, _ rows: [Record]
  ) throws(ListFormatError) -> Int {
    if let name { return try column(named: name, among: names) }
    let withURLs = Set(rows.flatMap(\.urlColumns)).sorted()
    if let names, let known = URLColumnName.first(in: names, preferring: withURLs) { return known }
    guard let first = withURLs.first else {
      throw .noURLs(names ?? [], recordCount: rows.count)
    }
    guard withURLs.count == 1 else {
      throw .severalColumns(withURLs.map { names?[$0] ?? "\($0 + 1)" })
    }
    return first
  }

  // MARK: - Reading

  var records: TableRecords { TableRecords(separator: separator) }

  /// Whether a record before all others is none: a comment, and what names the separator.
  func isPreface(_ record: ArraySlice<UInt8>) -> Bool {
    record.starts(with: Self.separatorPrefix) || Record(record, separatedBy: separator).isComment
  }

  /// Whether the first record names the columns.
  var hasHeader: Bool { names != nil }

  /// The URL of a record; `nil` if it is too short.
  func url(of record: ArraySlice<UInt8>) -> String? {
    Self.field(column, of: record, separatedBy: separator)
  }

  /// The names of the columns that stay with the URLs.
  var columnNames: [String] { kept.map(\.name) }

  /// The texts of a record in these columns, empty if it is too short; `nil` if they are too long.
  func columns(of record: ArraySlice<UInt8>) -> LineColumns? {
    guard !kept.isEmpty else { return LineColumns.none }
    let fields = Self.fields(of: record, separatedBy: separator)
    return LineColumns(
      texts: kept.map { fields.indices.contains($0.index) ? fields[$0.index] : "" })
  }

  /// What it is, for people.
  var description: String {
    let kind = separator == UInt8(ascii: "\t") ? "TSV" : "CSV"
    let name = names.flatMap { $0.indices.contains(column) ? ", \"\($0[column])\"" : nil } ?? ""
    return "\(kind), with the URLs in column \(column + 1)\(name)"
  }

  private static func field(
    _ index: Int, of record: ArraySlice<UInt8>, separatedBy separator: UInt8?
  ) -> String? {
    var rest = record
    for _ in 0..<index {
      guard let end = endOfField(in: rest, separatedBy: separator) else { return nil }
      rest = rest[(end + 1)...]
    }
    return text(rest[..<(endOfField(in: rest, separatedBy: separator) ?? rest.endIndex)])
  }

  private static func fields(
    of record: ArraySlice<UInt8>, separatedBy separator: UInt8?
  ) -> [String] {
    var rest = record
    var fields: [String] = []
    while let end = endOfField(in: rest, separatedBy: separator) {
      fields.append(text(rest[..<end]))
      rest = rest[(end + 1)...]
    }
    return fields + [text(rest)]
  }

  /// The place of the separator behind the first field; `nil` for the last field.
  private static func endOfField(
    in bytes: ArraySlice<UInt8>, separatedBy separator: UInt8?
  ) -> Int? {
    guard let separator else { return nil }
    guard bytes.first == quote else { return bytes.firstIndex(of: separator) }
    var isQuoted = false
    return bytes.firstIndex { byte in
      if byte == quote { isQuoted.toggle() }
      return byte == separator && !isQuoted
    }
  }

  /// A field without its quotes. A quote within is two of them.
  private static func text(_ field: ArraySlice<UInt8>) -> String {
    guard field.first == quote else { return String(decoding: field, as: UTF8.self) }
    var bytes: [UInt8] = []
    var isInQuotes = false
    for (index, byte) in zip(field.indices, field) {
      if byte == quote {
        isInQuotes.toggle()
        guard isInQuotes, index > field.startIndex else { continue }
      }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// A record of the sample.
  private struct Record {
    /// The fields without white space around them.
    let texts: [String]
    /// The fields with URLs.
    let urlColumns: [Int]
    private let isQuoted: Bool
    /// Whether it is a line before the table.
    let isComment: Bool
    /// The fields up to the last that is not empty.
    let width: Int

    /// What the path of a picture ends with.
    private static let pictureSuffixes = [
      ".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif", ".heic", ".tif", ".tiff", ".svg", ".bmp",
      ".jxl",
    ]

    init(_ bytes: ArraySlice<UInt8>, separatedBy separator: UInt8?) {
      texts = DelimitedTable.fields(of: bytes, separatedBy: separator).map { text in
        String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
      }
      urlColumns = texts.indices.filter { [texts] index in
        ListPlace.isURL(texts[index]) && !texts[index].contains(where: \.isWhitespace)
      }
      isQuoted = bytes.first == quote
      isComment =
        bytes.first == UInt8(ascii: "#") && texts.count == 1 || bytes.starts(with: separatorPrefix)
      width = (texts.lastIndex { !$0.isEmpty } ?? -1) + 1
    }

    /// Whether it can be the first of a table: names of columns.
    var isHeader: Bool {
      !texts.contains { $0.contains("/") || $0.contains(":") }
        && (texts.count > 1 || URLColumnName.first(in: texts) != nil)
    }

    /// Whether it is one of a table; `nil` for a line of a list. A single line with the name of a picture before the
    /// separator decides nothing.
    func isTable(header: Record?, separator: UInt8) -> Bool? {
      guard texts.count > 1, let urlColumn = urlColumns.first else { return nil }
      if separator == UInt8(ascii: "\t") || urlColumn > 0 || isQuoted
        || header?.texts.count == texts.count
      {
        return true
      }
      let path = texts[0].lowercased()
      let isComplete = Self.pictureSuffixes.contains(where: path.hasSuffix)
      let hasSpace = texts.dropFirst().contains { $0.contains(" ") }
      return (isComplete || hasSpace) && !texts[1].contains("=") ? false : nil
    }
  }
}

/// The entries of a table, one a record.
struct TableEntries: EntryReader {
  private let table: DelimitedTable
  private var records: TableRecords
  /// Whether no record has come but empty ones and comments.
  private var isAtStart = true

  init(_ table: DelimitedTable) {
    self.table = table
    records = table.records
  }

  var line: Int { records.line }
  var description: String? { table.description }
  var columnNames: [String] { table.columnNames }

  mutating func feed(_ bytes: ArraySlice<UInt8>, into entries: inout ListEntries) {
    let table = table
    var isAtStart = isAtStart
    records.feed(bytes) { Self.take($0, $1, of: table, &isAtStart, &entries) }
    self.isAtStart = isAtStart
  }

  mutating func finish(into entries: inout ListEntries) {
    let table = table
    var isAtStart = isAtStart
    records.finish { Self.take($0, $1, of: table, &isAtStart, &entries) }
  }

  private static func take(
    _ record: ArraySlice<UInt8>, _ line: Int, of table: DelimitedTable, _ isAtStart: inout Bool,
    _ entries: inout ListEntries
  ) {
    let wasAtStart = isAtStart
    guard !record.isEmpty, !wasAtStart || !table.isPreface(record) else { return }
    isAtStart = false
    if wasAtStart, table.hasHeader { return }
    entries.add(table.url(of: record), table.columns(of: record), ofRow: record, at: line)
  }
}

/// Cuts the bytes of a table into records. A field in quotes may contain separators and line feeds (RFC 4180); a quote
/// within a field that does not begin with one is a character as any other.
///
/// A record whose quotes are not in pairs ends with its first line, so that it takes no other with it.
struct TableRecords: Sendable {
  private enum State {
    case fieldStart, unquoted, quoted, quoteInQuoted
    /// Text follows a closing quote.
    case broken
  }

  /// The bytes of a record that are kept.
  static let maximumByteCount = 1 << 20

  private let separator: UInt8?
  private var state = State.fieldStart
  /// The start of the unfinished record.
  private var pending: [UInt8] = []
  /// The line that the next byte belongs to, and that in which the record begins, from 1.
  private(set) var line = 1
  private var recordLine = 1

  init(separator: UInt8?) {
    self.separator = separator
  }

  /// - Parameter take: gets each complete record, and the line in which it begins.
  mutating func feed(_ bytes: ArraySlice<UInt8>, _ take: (ArraySlice<UInt8>, Int) -> Void) {
    var rest = bytes
    while let broken = cut(rest, take) { rest = endFirstLine(of: broken, take) }
  }

  /// The last record, after all bytes were fed.
  mutating func finish(_ take: (ArraySlice<UInt8>, Int) -> Void) {
    while state == .quoted, let rest = Optional(endFirstLine(of: pending[...], take)) {
      feed(rest, take)
    }
    if !pending.isEmpty { end(with: [], take) }
  }

  /// - Returns: the bytes from the beginning of a record whose quotes are not in pairs, and that has line feeds in them;
  ///   `nil` when all bytes are cut.
  private mutating func cut(
    _ bytes: ArraySlice<UInt8>, _ take: (ArraySlice<UInt8>, Int) -> Void
  ) -> ArraySlice<UInt8>? {
    var start = bytes.startIndex
    for index in bytes.indices {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\n") {
        line += 1
        if state != .quoted {
          end(with: bytes[start..<index], take)
          start = index + 1
        }
      } else if byte == UInt8(ascii: "\"") {
        switch state {
        case .fieldStart, .quoteInQuoted: state = .quoted
        case .quoted: state = .quoteInQuoted
        case .unquoted, .broken: break
        }
      } else if byte == separator {
        if state != .quoted, state != .broken { state = .fieldStart }
      } else if state == .quoteInQuoted, byte != UInt8(ascii: "\r") {
        state = .broken
        if line > recordLine { return pending + bytes[start...] }
      } else if state == .fieldStart {
        state = .unquoted
      }
    }
    let rest = bytes[start...]
    if state == .quoted, line > recordLine, pending.count + rest.count >= Self.maximumByteCount {
      return pending + rest
    }
    keep(rest)
    return nil
  }

  /// Ends a record with its first line.
  ///
  /// - Returns: the other bytes.
  private mutating func endFirstLine(
    of bytes: ArraySlice<UInt8>, _ take: (ArraySlice<UInt8>, Int) -> Void
  ) -> ArraySlice<UInt8> {
    let end = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
    pending.removeAll(keepingCapacity: true)
    line = recordLine + 1
    self.end(with: bytes[..<end], take)
    return bytes[end...].dropFirst()
  }

  private mutating func end(
    with bytes: ArraySlice<UInt8>, _ take: (ArraySlice<UInt8>, Int) -> Void
  ) {
    if pending.isEmpty {
      take(Self.withoutReturn(bytes), recordLine)
    } else {
      keep(bytes)
      take(Self.withoutReturn(pending[...]), recordLine)
      pending.removeAll(keepingCapacity: true)
    }
    recordLine = line
    state = .fieldStart
  }

  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    pending += bytes.prefix(Self.maximumByteCount - pending.count)
  }

  /// A line may end with CR and LF.
  private static func withoutReturn(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes
  }
}
