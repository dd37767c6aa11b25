import ImgModel

/// The entries of JSON: elements of an array, or a record a line.
struct JSONEntries: EntryReader {
  private var records: JSONRecords
  /// The name or path of the member with the URL; `nil` for the one that has it.
  private let urlColumn: String?
  /// Where the URLs are; `nil` until the first record.
  private var path: JSONPath?

  /// - Parameters:
  ///   - head: the beginning of the list, whose last record may be cut.
  ///   - urlColumn: see ``JSONPath``.
  /// - Throws: ``ListFormatError`` if its first record has no URL.
  init(_ head: ArraySlice<UInt8>, urlColumn: String?) throws(ListFormatError) {
    let start = head.first { !JSONRecords.isBlank($0) }
    records = JSONRecords(first: start)
    self.urlColumn = urlColumn
    var first: JSONValue?
    var reader = records
    try reader.feed(head) { bytes, _ in if first == nil { first = try? JSONValue(bytes) } }
    if first == nil { try? reader.finish { bytes, _ in first = try? JSONValue(bytes) } }
    path = try first.map { value throws(ListFormatError) in try JSONPath(to: urlColumn, in: value) }
  }

  var line: Int { records.line }
  var description: String? { path?.description ?? "JSON" }

  mutating func feed(
    _ bytes: ArraySlice<UInt8>, into entries: inout ListEntries
  ) throws(ListFormatError) {
    var complete: [(JSONValue?, ArraySlice<UInt8>, Int)] = []
    try records.feed(bytes) { complete.append((try? JSONValue($0), $0, $1)) }
    try add(complete, to: &entries)
  }

  mutating func finish(into entries: inout ListEntries) throws(ListFormatError) {
    var complete: [(JSONValue?, ArraySlice<UInt8>, Int)] = []
    try records.finish { complete.append((try? JSONValue($0), $0, $1)) }
    try add(complete, to: &entries)
  }

  private mutating func add(
    _ complete: [(value: JSONValue?, bytes: ArraySlice<UInt8>, line: Int)],
    to entries: inout ListEntries
  ) throws(ListFormatError) {
    for (value, bytes, line) in complete {
      if path == nil, let value { path = try JSONPath(to: urlColumn, in: value) }
      entries.add(value.flatMap { path?.url(of: $0) }, ofRow: bytes, at: line)
    }
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
  /// The line that the next byte belongs to, and that in which the record begins, from 1.
  private(set) var line = 1
  private var recordLine = 1

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
      case .inLines: if byte == UInt8(ascii: "\n") { end(take) } else { keep(byte) }
      case .afterArray:
        guard Self.isBlank(byte) else { throw .afterArray(line: line) }
      }
      if byte == UInt8(ascii: "\n") { line += 1 }
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
    if isInText {
      if isEscaped {
        isEscaped = false
      } else {
        isEscaped = byte == UInt8(ascii: "\\")
        isInText = byte != UInt8(ascii: "\"")
      }
    } else if depth == 0, byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") {
      end(take)
      if byte == UInt8(ascii: "]") { state = .afterArray }
      return
    } else {
      switch byte {
      case UInt8(ascii: "\""): isInText = true
      case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      default: break
      }
    }
    keep(byte)
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
  }

  /// White space of JSON (RFC 8259 section 2).
  static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }
}

/// Where the URL is in a record of JSON.
struct JSONPath: Hashable {
  /// The names of members, and the numbers of elements from 0. Empty if the record is the URL.
  private let names: [String]

  /// - Parameters:
  ///   - record: the first one.
  ///   - path: with dots between the names; `nil` for the member that a URL usually has.
  /// - Throws: ``ListFormatError`` if the record has no such member.
  init(to path: String?, in record: JSONValue) throws(ListFormatError) {
    let members = record.memberNames(at: [])
    if let path {
      // A name may have a dot.
      names =
        members.contains(path)
        ? [path]
        : path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
      guard record.text(at: names) != nil || members.isEmpty || members.contains(names[0]) else {
        throw .noColumn(path, among: members)
      }
    } else if record.text(at: []) != nil {
      names = []
    } else {
      names = try Self.names(ofURLIn: record)
    }
  }

  /// The member with a known name, or the only one that has a URL: of the record, or of what is in it.
  private static func names(ofURLIn record: JSONValue) throws(ListFormatError) -> [String] {
    let members = record.memberNames(at: [])
    if let known = URLColumnName.first(in: members), record.text(at: [members[known]]) != nil {
      return [members[known]]
    }
    let paths = paths(in: record, below: [])
      .filter { record.text(at: $0).map(ListPlace.isURL) ?? false }
    if let known = URLColumnName.first(in: paths.map { $0.last ?? "" }) { return paths[known] }
    guard let only = paths.first else { throw .noURLs(members) }
    guard paths.count == 1 else { throw .severalColumns(paths.map { $0.joined(separator: ".") }) }
    return only
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
