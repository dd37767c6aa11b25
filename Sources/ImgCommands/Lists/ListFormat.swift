import ImgClient
import ImgModel
import ImgSettings

/// How a list of URLs is written.
package struct ListFormat: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// What its beginning shows.
    case recognized
    /// One URL a line.
    case text
    /// - Parameter separator: `nil` for the one that its beginning shows.
    case table(separator: UInt8?)
    /// An array, or a record a line.
    case json
    /// JSON as Lorem Picsum's list has it: an array of objects, each with the `download_url` of a picture. A
    /// server has such lists in pages.
    ///
    /// - Parameter pageCount: the pages that are read; `nil` for one, and for a file.
    case picsum(pageCount: Int?)
  }

  /// Which columns travel with the lines, beside that of the URLs.
  package enum Columns: Hashable, Sendable {
    case none
    /// All that the beginning of the list shows.
    case all
    case named([String])
  }

  let kind: Kind
  /// The column of a table, or the member of JSON, that has the URLs; `nil` for the one that its name or its values show.
  let urlColumn: String?
  let columns: Columns

  package init() { self.init(.recognized) }

  package init(_ kind: Kind, urlColumn: String? = nil, columns: Columns = .none) {
    self.kind = kind
    self.urlColumn = urlColumn
    self.columns = columns
  }

  /// The format of the lists behind the first one of a job: all have the same columns.
  func following(_ columns: [String]) -> ListFormat {
    self.columns == .all ? ListFormat(kind, urlColumn: urlColumn, columns: .named(columns)) : self
  }

  /// Whether a format is named, so that a URL names a list.
  var isNamed: Bool { kind != .recognized }

  var isOfPicsum: Bool { if case .picsum = kind { true } else { false } }

  static let option = OptionDescription(
    "--input-format", "FORMAT",
    help:
      "How the lists are written: text, one URL a line; csv or tsv, a table with a column of URLs; json, an array, or a "
      + "record a line; or picsum, the JSON that /v2/list of Lorem Picsum and of imgctl serve answers with. With it a list may "
      + "be a URL. It is fetched under the coordinator's limits, permitted networks and proxies, without the headers "
      + "and cookies of pictures. Default: what the list shows, which is said if it is not text. Compressed lists (gzip, bzip2, xz, zstd) are decompressed."
  )
  static let urlColumn = OptionDescription(
    "--url-column", "NAME",
    help:
      "The column of the URLs in a table, by its name or its number from 1, or their member in JSON, such as image.url or "
      + "images.0. Default: the one that is named like url or image_url, or the only one with URLs."
  )
  static let columns = OptionDescription(
    "--columns", "NAMES",
    help:
      "The columns of a table, or members of JSON, that stay with each line: names with commas between them, or numbers "
      + "from 1; or all, which are all but that of the URLs. imgctl failures and the manifest of imgctl export have them."
  )
  static let pages = OptionDescription(
    "--pages", "N",
    help:
      "Of a picsum list at a URL, read so many pages, or fewer if there are no more. Default: 1.")

  private static let pageRange: ClosedRange<Int64> = 1...10_000

  init(in arguments: ArgumentReader) throws(UsageError) {
    let pageCount = try arguments.value(of: Self.pages) { (text) throws(InvalidValue) in
      Int(try UnitScale.count.value(parsing: text, in: Self.pageRange))
    }
    let kind =
      try arguments.value(of: Self.option) { (text) throws(InvalidValue) in
        try Self.kind(named: text.lowercased(), pageCount: pageCount)
      } ?? .recognized
    if pageCount != nil {
      guard case .picsum = kind else { throw UsageError("--pages needs --input-format picsum") }
    }
    let column = arguments.texts(of: Self.urlColumn)?.last
    let columns =
      arguments.lists(Self.columns)
      ? try Self.columns(in: arguments.texts(of: Self.columns)) : .none
    switch kind {
    case .text, .picsum:
      guard column == nil, columns == .none else {
        let option = column == nil ? Self.columns : Self.urlColumn
        throw UsageError("\(option.flag) is for tables and JSON")
      }
    case .recognized, .table, .json: break
    }
    self.init(kind, urlColumn: column, columns: columns)
  }

  private static func columns(in values: [String]?) throws(UsageError) -> Columns {
    guard let values else { return .none }
    let names = values.flatMap { $0.split(separator: ",") }.compactMap { text -> String? in
      guard let last = text.lastIndex(where: { $0 != " " }) else { return nil }
      return String(text[...last].drop { $0 == " " })
    }
    guard !names.isEmpty else { throw UsageError("\(Self.columns.flag) names no column") }
    return names == ["all"] ? .all : .named(names)
  }

  private static func kind(named name: String, pageCount: Int?) throws(InvalidValue) -> Kind {
    switch name {
    case "text", "txt": .text
    case "csv": .table(separator: nil)
    case "tsv": .table(separator: UInt8(ascii: "\t"))
    case "json", "jsonl", "ndjson": .json
    case "picsum": .picsum(pageCount: pageCount)
    case "parquet": throw InvalidValue("Parquet is not read; \(parquetAdvice(for: "FILE"))")
    default:
      throw InvalidValue("\(Spelling.quoted(name)) is not text, csv, tsv, json or picsum")
    }
  }

  /// - Parameter file: a word of the shell.
  static func parquetAdvice(for file: String) -> String {
    "duckdb makes a list of it: duckdb -jsonlines -c \"SELECT * FROM '\(file)'\" | imgctl submit -"
  }

  // MARK: - Recognition

  /// The reader of a list.
  ///
  /// - Parameters:
  ///   - name: of the list. That of a file tells of a table that is not recognised by what it has.
  /// - Returns: `nil` if more of the list is needed to decide.
  func reader(
    ofListNamed name: String, head: ListHead
  ) throws(ListFormatError) -> (any EntryReader)? {
    switch kind {
    case .text: return TextEntries()
    case .table(let separator):
      return TableEntries(try DelimitedTable(of: head, separatedBy: separator, as: self))
    case .json:
      guard Self.isJSON(head.bytes) else { throw .notJSON }
      return try JSONEntries(head, as: self)
    case .recognized:
      // No URL begins like JSON.
      if Self.isJSON(head.bytes) { return try JSONEntries(head, as: self) }
      if let table = try DelimitedTable(in: head, as: self) { return TableEntries(table) }
      let isNamedTable = [".csv", ".tsv"]
        .contains(where: ListCompression.uncompressedName(name.lowercased()).hasSuffix)
      guard urlColumn != nil || isNamedTable && DelimitedTable.hasHeader(head) else {
        try Self.requireList(head.bytes)
        let isBlank = head.bytes.allSatisfy(JSONRecords.isBlank)
        guard columns == .none || isBlank else { throw .noColumns }
        return TextEntries()
      }
      return TableEntries(try DelimitedTable(of: head, separatedBy: nil, as: self))
    case .picsum: preconditionFailure("it is read by pages")
    }
  }

  /// Refuses text whose URLs stand behind other text in most lines.
  private static func requireList(_ head: ArraySlice<UInt8>) throws(ListFormatError) {
    let lines = String(decoding: head, as: UTF8.self)
      .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    var (count, behind) = (0, 0)
    var place: Int?
    for (index, line) in lines.enumerated() where !line.isEmpty && line.first != "#" {
      count += 1
      let text = line.drop(while: \.isWhitespace)
      guard (try? ImageURL(listed: String(text))) == nil, !ListPlace.isURL(String(text)),
        !text.hasPrefix("/"), !text.hasPrefix("."),
        ["http://", "https://"].contains(where: text.lowercased().contains)
      else { continue }
      behind += 1
      place = place ?? index + 1
    }
    if behind * 2 > count, let place { throw .urlsBehindText(line: place) }
  }

  private static func isJSON(_ head: ArraySlice<UInt8>) -> Bool {
    let start = head.first { !JSONRecords.isBlank($0) }
    return start == UInt8(ascii: "[") || start == UInt8(ascii: "{")
  }
}

/// The beginning of a list, by which its format is recognised.
struct ListHead {
  /// Without a byte order mark.
  let bytes: ArraySlice<UInt8>
  /// Whether it is all of the list. If not, its last record may be cut.
  let isWhole: Bool
}

/// Why a list is not in its format. The text follows the name of the list.
package enum ListFormatError: Error, Hashable, Sendable, CustomStringConvertible {
  /// - Parameter names: of the columns or members.
  case noColumn(String, among: [String])
  case severalColumns([String])
  /// It is no table, so that no columns can be kept.
  case noColumns
  case tooManyColumns(Int)
  /// - Parameter recordCount: those that were looked at.
  case noURLs([String], recordCount: Int)
  /// The header has fewer fields than the records.
  case shortHeader(Int, fieldCount: Int)
  /// A line that has a URL does not begin with it.
  case urlsBehindText(line: Int)
  /// - Parameter path: of the list in the only record, for jq.
  case listInRecord(path: String)
  case longRecord(line: Int)
  case openArray(line: Int)
  case afterArray(line: Int)
  case notJSON

  package var description: String {
    switch self {
    case .noColumn(let name, let names):
      " has no column or member \(Spelling.quoted(name))"
        + (names.isEmpty ? "" : "; it has \(Self.listed(names))")
    case .severalColumns(let names):
      " has URLs in \(Self.listed(names)); \(ListFormat.urlColumn.flag) names one of them"
    case .noColumns:
      " has one URL a line, and no columns for \(ListFormat.columns.flag); "
        + "\(ListFormat.option.flag) csv reads it as a table"
    case .tooManyColumns(let count):
      " has \(count) columns; \(ListFormat.columns.flag) keeps at most \(LineColumns.maximumCount), with names of "
        + "\(LineColumns.maximumNameByteCount >> 10) KiB together: name those to keep"
    case .noURLs(let names, let count):
      " has no column or member with URLs in its first \(count) records"
        + (names.isEmpty
          ? "" : "; it has \(Self.listed(names)), of which \(ListFormat.urlColumn.flag) names one")
    case .shortHeader(let count, let fieldCount):
      " has \(count) names in its header and \(fieldCount) fields in its records; "
        + "\(ListFormat.urlColumn.flag) N names the column by its number from 1"
    case .urlsBehindText(let line):
      ", line \(line): the URL stands behind other text; a list has one URL a line, or is a table with commas, semicolons "
        + "or tabs"
    case .listInRecord(let path):
      " is one value of JSON with the list in it; jq takes that out: jq -c '\(path)' FILE | imgctl submit -"
    case .longRecord(let line):
      ", line \(line): the value of JSON has more than \(JSONRecords.maximumByteCount >> 20) MiB; if the list is a member of "
        + "it, jq takes that out: jq -c '.NAME[]' FILE | imgctl submit -"
    case .openArray(let line): ", line \(line): the JSON array has no end"
    case .afterArray(let line): ", line \(line): more than one value of JSON"
    case .notJSON: " is no JSON; it begins with neither [ nor {"
    }
  }

  /// - Throws: ``tooManyColumns(_:)``
  static func require(_ columns: [String]) throws(ListFormatError) {
    guard columns.count <= LineColumns.maximumCount,
      columns.reduce(0, { $0 + $1.utf8.count }) <= LineColumns.maximumNameByteCount
    else { throw tooManyColumns(columns.count) }
  }

  private static func listed(_ names: [String]) -> String {
    let shown = names.prefix(12).joined(separator: ", ")
    return names.count > 12 ? "\(shown) and \(names.count - 12) more" : shown
  }
}

/// What a column or a member with the URL of a picture is usually named.
enum URLColumnName {
  /// In lower case, the best first: other columns may have the URLs of pages.
  private static let known = [
    "image_url", "imageurl", "img_url", "image_link", "imagelink", "image_uri", "image_src",
    "picture_url",
    "photo_url", "download_url", "contenturl", "url", "uri", "src", "href", "link",
  ]

  /// - Parameter preferred: the positions of names that go before others.
  /// - Returns: the position of the best name; `nil` if none is known.
  static func first(in names: [String], preferring preferred: [Int] = []) -> Int? {
    let names = names.map { $0.lowercased() }
    let found = known.compactMap { names.firstIndex(of: $0) }
    return found.first(where: preferred.contains) ?? found.first
  }
}
