import Glibc
import ImgClient
package import ImgModel
import ImgSettings
import ImgSystem

/// Splits the bytes of a list into entries, one a line, and collects them into batches that fit a
/// frame. Pure: bytes in, batches out.
///
/// A path becomes the URL of a file that the command reads, if files may be named. White space around an entry, empty
/// lines and lines that begin with `#` are ignored. Bytes that are not UTF-8 become U+FFFD. A line that is too long for a
/// URL is truncated, see ``ImageURL/shortened(_:)``. So the coordinator refuses that entry alone, and memory stays
/// bounded.
package struct ListReader: Sendable {
  /// The bytes of a line that are read.
  private static let maximumEntryByteCount = ImageURL.maximumLineByteCount + 1

  /// A file with a zero byte among its first bytes is not text. They also tell whether it is a table, see
  /// ``DelimitedTable``. A batch is longer.
  package static let inspectedByteCount = 4_096

  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
  private static let newline = UInt8(ascii: "\n")

  /// The name of the list in errors.
  private let name: String
  /// See ``LinePlace/list``.
  private let list: Int?
  /// Makes URLs of the lines that are paths; `nil` for a list that names no files.
  private let paths: LocalPaths?
  /// Whether a line was a path.
  private(set) var namesFiles = false
  /// The first bytes of the list.
  private var head: [UInt8] = []
  /// The first bytes of the list, while they may still be a byte order mark.
  private var opening: [UInt8] = []
  private var isOpened = false
  /// The start of an unfinished line, without leading white space, truncated to the length of an
  /// entry.
  private var pending: [UInt8] = []
  /// Whether the truncated part contains more than white space.
  private var isPendingOverlong = false
  private var batcher = SubmissionBatcher()
  /// The number of the line that the next byte belongs to, from 1.
  package private(set) var line = 1

  /// - Parameters:
  ///   - list: see ``LinePlace/list``.
  ///   - paths: `nil` if the list names no files.
  package init(name: String, list: Int? = nil, paths: LocalPaths? = nil) {
    self.name = name
    self.list = list
    self.paths = paths
  }

  /// Reads the next bytes of the list.
  ///
  /// - Returns: the completed batches in order, see ``SubmissionBatcher``.
  /// - Throws: a ``ListError``; the reader must not be used afterwards.
  package mutating func feed(_ chunk: [UInt8]) throws(ListError) -> [ListLines] {
    try inspect(chunk)
    var batches: [ListLines] = []
    cut(isOpened ? chunk[...] : open(with: chunk), &batches)
    return batches
  }

  /// The last batch, after all bytes were fed; none if it is empty.
  ///
  /// - Throws: a ``ListError`` for a short table.
  package mutating func finish() throws(ListError) -> [ListLines] {
    if head.count < Self.inspectedByteCount { try requireList(head[...]) }
    var batches: [ListLines] = []
    if !isOpened { cut(opening[...], &batches) }
    endLine(with: [], &batches)
    if let last = batcher.finish() { batches.append(last) }
    return batches
  }

  /// Skips a byte order mark.
  /// - Returns: the bytes to read; none while too few have arrived to decide.
  private mutating func open(with chunk: [UInt8]) -> ArraySlice<UInt8> {
    opening += chunk
    guard opening.count >= Self.byteOrderMark.count else { return [] }
    isOpened = true
    defer { opening = [] }
    return opening.starts(with: Self.byteOrderMark)
      ? opening.dropFirst(Self.byteOrderMark.count) : opening[...]
  }

  private mutating func cut(_ bytes: ArraySlice<UInt8>, _ batches: inout [ListLines]) {
    var rest = bytes
    while let end = rest.firstIndex(of: Self.newline) {
      endLine(with: rest[..<end], &batches)
      line += 1
      rest = rest[(end + 1)...]
    }
    keep(rest)
  }

  private mutating func inspect(_ chunk: [UInt8]) throws(ListError) {
    guard head.count < Self.inspectedByteCount else { return }
    let new = head.endIndex...
    head += chunk.prefix(Self.inspectedByteCount - head.count)
    if let end = head[new].firstIndex(of: 0) {
      if isUTF16 { throw .utf16(name: name) }
      throw .notText(name: name, line: 1 + head[..<end].count { $0 == Self.newline })
    }
    guard head.count == Self.inspectedByteCount, let end = head.lastIndex(of: Self.newline) else {
      return
    }
    try requireList(head[..<end])
  }

  /// Whether the list begins with a byte order mark of UTF-16, or with two characters of ASCII in UTF-16.
  private var isUTF16: Bool {
    let start = head.prefix(4)
    return [[0xFF, 0xFE], [0xFE, 0xFF]].contains(Array(start.prefix(2)))
      || start.count == 4 && (start[0] == 0) != (start[1] == 0)
        && (start[0] == 0) == (start[2] == 0) && (start[1] == 0) == (start[3] == 0)
  }

  private func requireList(_ head: ArraySlice<UInt8>) throws(ListError) {
    let start =
      head.starts(with: Self.byteOrderMark) ? head.dropFirst(Self.byteOrderMark.count) : head
    let lines = String(decoding: start, as: UTF8.self).split(whereSeparator: \.isNewline)
    guard let table = DelimitedTable(lines) else { return }
    throw .table(name: name, table)
  }

  private mutating func endLine(with bytes: ArraySlice<UInt8>, _ batches: inout [ListLines]) {
    if pending.isEmpty {
      addEntry(bytes, isOverlong: false, &batches)
    } else {
      keep(bytes)
      addEntry(pending[...], isOverlong: isPendingOverlong, &batches)
      pending.removeAll(keepingCapacity: true)
      isPendingOverlong = false
    }
  }

  /// Appends to the unfinished line, up to the length of an entry.
  private mutating func keep(_ bytes: ArraySlice<UInt8>) {
    let bytes = pending.isEmpty ? bytes.drop(while: Self.isBlank) : bytes
    let room = Self.maximumEntryByteCount - pending.count
    pending += bytes.prefix(room)
    if !isPendingOverlong {
      isPendingOverlong = !bytes.dropFirst(room).allSatisfy(Self.isBlank)
    }
  }

  private mutating func addEntry(
    _ bytes: ArraySlice<UInt8>, isOverlong: Bool, _ batches: inout [ListLines]
  ) {
    var text = bytes.drop(while: Self.isBlank)
    if !isOverlong {
      // Not for a truncated line, whose end is not here.
      while let last = text.last, Self.isBlank(last) { text.removeLast() }
    }
    guard let first = text.first, first != UInt8(ascii: "#") else { return }
    let entry = String(decoding: text.prefix(Self.maximumEntryByteCount), as: UTF8.self)
    let place = LinePlace(line: line, list: list)
    if let full = batcher.add(url(of: entry), at: place) { batches.append(full) }
  }

  /// What is submitted for an entry.
  private mutating func url(of entry: String) -> String {
    guard let paths, paths.isPath(entry) else {
      return ImageURL.shortened(FileURL.withoutVersion(entry))
    }
    namesFiles = true
    return paths.url(of: entry)
  }

  /// The white space of ASCII. It includes CR, which ends lines on some systems.
  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }
}

/// Why a list cannot be read.
package enum ListError: Error, Hashable, Sendable, CustomStringConvertible {
  /// It contains a zero byte in a line, counted from 1.
  case notText(name: String, line: Int)
  /// It is text in UTF-16.
  case utf16(name: String)
  /// It has a column of URLs among others.
  case table(name: String, DelimitedTable)
  case unreadable(reason: String)

  package var description: String {
    switch self {
    case .notText(let name, let line):
      "\(name) is not a text file (line \(line)); a list has one URL a line"
    case .utf16(let name): "\(name) is UTF-16; save it as UTF-8, and read that file"
    case .table(let name, let table): "\(name) is \(table.advice(for: name))"
    case .unreadable(let reason): reason
    }
  }
}

/// A file or standard input that a command reads.
struct InputFile: ~Copyable {
  /// Closes a file at the end; `nil` for standard input, which stays open.
  private let file: OwnedDescriptor?
  let descriptor: CInt
  /// The name in messages.
  let name: String

  /// Opens the file with the rights of this process.
  ///
  /// - Parameter path: `-` for standard input.
  init(path: String) throws(SystemError) {
    guard path != "-" else {
      file = nil
      descriptor = STDIN_FILENO
      name = "standard input"
      return
    }
    let opened = try FileIO.open(readingFrom: path)
    descriptor = opened.rawValue
    file = consume opened
    name = path
  }

  /// Finds out whether a file can be opened. Opens no pipe, because its writer goes on once it has a reader.
  static func check(path: String) throws(SystemError) {
    guard path != "-" else { return }
    let status = try FileStatus(following: path)
    guard status.isRegularFile || status.isDirectory else { return }
    _ = try InputFile(path: path)
  }

  /// Waits for bytes and appends them to `buffer`.
  ///
  /// - Returns: the number of bytes; 0 at the end.
  func read(
    into buffer: inout [UInt8], upTo maximumByteCount: Int
  ) throws(SystemError) -> Int {
    try FileIO.read(descriptor, into: &buffer, upTo: maximumByteCount)
  }
}

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
