import ImgModel

/// The entries of JSON: elements of an array, or a record a line.
struct JSONEntries: EntryReader {
  private var records: JSONRecords
  private let path: JSONPath
  private let columns: [JSONPath]
  let columnNames: [String]
  /// Where the first record, which is no element of an array, has more values like that at the path, in the words of jq;
  /// `nil` if it has none, or the path was named.
  private let listPath: String?
  private var recordCount = 0

  /// - Parameter format: names the columns, if it does, see ``JSONPath``.
  /// - Returns: `nil` if no record is whole yet.
  /// - Throws: ``ListFormatError`` if no record of the beginning has a URL there, or one of the columns.
  init?(_ head: ListHead, as format: ListFormat) throws(ListFormatError) {
    records = JSONRecords(first: head.bytes.first { !JSONRecords.isBlank($0) })
    var values: [JSONValue] = []
    let add: (ArraySlice<UInt8>, Int) -> Void = { bytes, _ in
      if let value = try? JSONValue(bytes) { values.append(value) }
    }
    var reader = records
    try reader.feed(head.bytes, add)
    if head.isWhole { try reader.finish(add) }
    if values.isEmpty, !head.isWhole {
      guard head.bytes.count >= JSONRecords.maximumByteCount else { return nil }
      throw .longRecord(line: 1)
    }
    let path = try JSONPath(to: format.urlColumn, in: values)
    self.path = path
    columnNames = try path.columns(format.columns, besidesIn: values)
    columns = columnNames.map { JSONPath(to: $0, presentIn: values) }
    try ListFormatError.require(columnNames)
    listPath = format.urlColumn == nil && !records.isArray ? values.first.flatMap(path.list) : nil
  }

  var line: Int { records.line }
  var description: String? { path.description }

  mutating func feed(
    _ bytes: ArraySlice<UInt8>, into entries: inout ListEntries
  ) throws(ListFormatError) {
    let taken = (path, columns.map(\.names))
    var count = recordCount
    defer { recordCount = count }
    try records.feed(bytes) { Self.take($0, $1, taken, &count, &entries) }
  }

  mutating func finish(into entries: inout ListEntries) throws(ListFormatError) {
    let taken = (path, columns.map(\.names))
    var count = recordCount
    try records.finish { Self.take($0, $1, taken, &count, &entries) }
    if count == 1, let listPath { throw .listInRecord(path: listPath) }
  }

  private static func take(
    _ bytes: ArraySlice<UInt8>, _ line: Int, _ taken: (url: JSONPath, columns: [[String]]),
    _ count: inout Int, _ entries: inout ListEntries
  ) {
    count += 1
    let record = try? JSONValue(bytes)
    let columns: LineColumns? =
      if taken.columns.isEmpty {
        LineColumns.none
      } else {
        LineColumns(record?.values(at: taken.columns) ?? taken.columns.map { _ in nil })
      }
    entries.add(record.flatMap(taken.url.url), columns, ofRow: bytes, at: line)
  }
}

/// Cuts JSON into the records of a list: the elements of an array, or an object a line.
struct JSONRecords {
  private enum State {
    case beforeArray, inArray, afterArray, inLines
  }

  /// The bytes of a record that are kept. A longer one is no JSON then.
  static let maximumByteCount = 1 << 20

  private var state: State
  /// The start of the unfinished record, without white space before it.
  private var pending: [UInt8] = []
  /// The arrays and objects in the record that are open.
  private var depth = 0
  private var isInText = false
  private var isEscaped = false
  /// The byte before the next one, and the last that is no white space.
  private var last: UInt8 = 0
  private var lastSign: UInt8 = 0
  /// The line that the next byte belongs to, and that in which the record begins, from 1.
  private(set) var line = 1
  private var recordLine = 1

  /// Whether the records are elements.
  var isArray: Bool { state != .inLines }

  /// - Parameter first: the first byte that is no white space.
  init(first: UInt8?) {
    state = first == UInt8(ascii: "[") ? .beforeArray : .inLines
  }

  /// - Parameter take: gets each complete record, and the line in which it begins.
  /// - Throws: ``ListFormatError`` for what follows an array.
  mutating func feed(
    _ bytes: ArraySlice<UInt8>, _ take: (ArraySlice<UInt8>, Int) -> Void
  ) throws(ListFormatError) {
    for byte in bytes {
      switch state {
      case .beforeArray: if byte == UInt8(ascii: "[") { state = .inArray }
      case .inArray: takeElement(byte, take)
      case .inLines: takeLine(byte, take)
      case .afterArray:
        guard Self.isBlank(byte) else { throw .afterArray(line: line) }
      }
      if byte == UInt8(ascii: "\n") { line += 1 }
      last = byte
      if !Self.isBlank(byte) { lastSign = byte }
    }
  }

  /// The last record, after all bytes were fed.
  ///
  /// - Throws: ``ListFormatError`` for an array without an end.
  mutating func finish(
    _ take: (ArraySlice<UInt8>, Int) -> Void
  ) throws(ListFormatError) {
    switch state {
    case .inLines: end(take)
    case .afterArray: break
    case .beforeArray, .inArray: throw .openArray(line: line)
    }
  }

  private mutating func takeElement(_ byte: UInt8, _ take: (ArraySlice<UInt8>, Int) -> Void) {
    if !isInText, depth == 0, byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") {
      end(take)
      if byte == UInt8(ascii: "]") { state = .afterArray }
      return
    }
    follow(byte)
    keep(byte)
  }

  /// A record ends with its line, unless an object or an array is open in it. One that is broken ends before a line that
  /// begins another, and with the line in which a text is open.
  private mutating func takeLine(_ byte: UInt8, _ take: (ArraySlice<UInt8>, Int) -> Void) {
    let beginsRecord = byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
    let expectsValue = [UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "{")]
    if byte == UInt8(ascii: "\n") {
      if depth <= 0 || isInText { return end(take) }
    } else if last == UInt8(ascii: "\n"), beginsRecord, !expectsValue.contains(lastSign) {
      end(take)
    }
    follow(byte)
    keep(byte)
  }

  private mutating func follow(_ byte: UInt8) {
    if isInText {
      if isEscaped {
        isEscaped = false
      } else {
        isEscaped = byte == UInt8(ascii: "\\")
        isInText = byte != UInt8(ascii: "\"")
      }
      return
    }
    switch byte {
    case UInt8(ascii: "\""): isInText = true
    case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
    case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
    default: break
    }
  }

  private mutating func keep(_ byte: UInt8) {
    if pending.isEmpty {
      guard !Self.isBlank(byte) else { return }
      recordLine = line
    }
    if pending.count < Self.maximumByteCount { pending.append(byte) }
  }

  private mutating func end(_ take: (ArraySlice<UInt8>, Int) -> Void) {
    if !pending.isEmpty { take(pending[...], recordLine) }
    pending.removeAll(keepingCapacity: true)
    (depth, isInText, isEscaped) = (0, false, false)
  }

  /// White space of JSON (RFC 8259 section 2).
  static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }
}

/// Where the URL is in a record of JSON.
struct JSONPath: Hashable {
  /// The names of members, and the numbers of elements from 0. Empty if the record is the URL.
  fileprivate let names: [String]

  /// The place of a column in the first of the records that has it: its name may have dots, or be a path.
  init(to column: String, presentIn records: [JSONValue]) {
    let path = column.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    names = records.contains { $0.values(at: [[column]]) != [nil] } ? [column] : path
  }

  /// - Parameters:
  ///   - path: with dots between the names; `nil` for the member that a URL usually has.
  ///   - records: those at the beginning of the list.
  /// - Throws: ``ListFormatError`` if none of them has such a member.
  init(to path: String?, in records: [JSONValue]) throws(ListFormatError) {
    let members = records.first?.memberNames(at: []) ?? []
    guard let path else {
      self = try Self.found(in: records, members)
      return
    }
    // A name may have a dot.
    let paths = [
      [path], path.split(separator: ".", omittingEmptySubsequences: false).map(String.init),
    ]
    guard
      let names = paths.first(where: { path in records.contains { $0.text(at: path) != nil } })
    else { throw .noColumn(path, among: members) }
    self.init(names: names)
  }

  private init(names: [String]) { self.names = names }

  /// The member with a known name, or the only one that has a URL: of a record, or of what is in it.
  private static func found(
    in records: [JSONValue], _ members: [String]
  ) throws(ListFormatError) -> JSONPath {
    if records.contains(where: { $0.text(at: []).map(ListPlace.isURL) ?? false }) {
      return JSONPath(names: [])
    }
    for record in records {
      let paths = paths(in: record, below: []).filter { isURL(record, at: $0) }
      guard let first = paths.first else { continue }
      if let known = URLColumnName.first(in: paths.map { $0.last ?? "" }) {
        return JSONPath(names: paths[known])
      }
      guard paths.count == 1 || JSONPath(names: first).list(in: record) != nil else {
        throw .severalColumns(paths.map { $0.joined(separator: ".") })
      }
      return JSONPath(names: first)
    }
    throw .noURLs(members, recordCount: records.count)
  }

  /// The columns that stay with the URL at this path.
  ///
  /// - Throws: ``ListFormatError`` for one that no record has.
  func columns(
    _ columns: ListFormat.Columns, besidesIn records: [JSONValue]
  ) throws(ListFormatError) -> [String] {
    var members: [String] = []
    for record in records {
      members += record.memberNames(at: []).filter { !members.contains($0) }
    }
    switch columns {
    case .none: return []
    case .all: return members.filter { [$0] != names }
    case .named(let wanted):
      for name in wanted {
        let path = JSONPath(to: name, presentIn: records).names
        guard members.contains(name) || records.contains(where: { $0.values(at: [path]) != [nil] })
        else { throw .noColumn(name, among: members) }
      }
      return wanted
    }
  }

  private static func isURL(_ record: JSONValue, at path: [String]) -> Bool {
    record.text(at: path).map { ListPlace.isURL($0) && !$0.contains(where: \.isWhitespace) }
      ?? false
  }

  /// Where the record has several values like that of the path, in the words of jq; `nil` if it has one.
  func list(in record: JSONValue) -> String? {
    for index in names.indices {
      let (before, after) = (Array(names[..<index]), Array(names[(index + 1)...]))
      let others =
        names[index] == "0" ? ["1"] : after.isEmpty ? [] : record.memberNames(at: before)
      if others.contains(where: {
        $0 != names[index] && Self.isURL(record, at: before + [$0] + after)
      }) {
        return "." + before.joined(separator: ".") + "[]"
      }
    }
    return nil
  }

  /// Values in values that are looked at.
  private static let maximumDepth = 4

  private static func paths(in record: JSONValue, below path: [String]) -> [[String]] {
    guard path.count < maximumDepth else { return [] }
    return record.memberNames(at: path).flatMap { name in
      [path + [name]] + paths(in: record, below: path + [name])
    }
  }

  /// The URL of a record; `nil` if it has none.
  func url(of record: JSONValue) -> String? { record.text(at: names) }

  /// What it is, for people.
  var description: String {
    names.isEmpty
      ? "JSON, each record a URL" : "JSON, with the URLs in \"\(names.joined(separator: "."))\""
  }
}
