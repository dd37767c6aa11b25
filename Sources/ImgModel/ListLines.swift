/// Where a line of a job stands in the lists that were submitted.
package struct LinePlace: Hashable, Sendable {
  /// Its number in its list, from 1. Empty lines and comments have numbers, too.
  package let line: Int
  /// The position of its list among what was submitted with it, from 0; `nil` if that is the list alone.
  package let list: Int?

  /// A submission has at most as many lists.
  package static let maximumListCount = 1 << 16

  /// - Precondition: `line` is positive and `list` a number below ``maximumListCount``.
  package init(line: Int, list: Int? = nil) {
    precondition(Self.isValid(line: line, list: list), "a line and a list have numbers")
    self.line = line
    self.list = list
  }

  private static func isValid(line: Int, list: Int?) -> Bool {
    line > 0 && (0..<maximumListCount).contains(list ?? 0)
  }

  /// The place of a later line of the same list.
  ///
  /// - Parameter distance: the number of lines between them, and one.
  package func advanced(by distance: Int) -> LinePlace {
    LinePlace(line: line + distance, list: list)
  }

  /// The members `line` and `list` of an object that has other members, too.
  package static func optional(
    _ f: inout Fields, _ value: LinePlace?
  ) throws(FieldError) -> LinePlace? {
    let line = try f.optional("line", value?.line)
    let list = try f.optional("list", value?.list)
    guard let line else { return nil }
    // Numbers that leave room for the lines behind it.
    guard line < 1 << 62, isValid(line: line, list: list) else {
      throw f.invalid("line", "no number of a line")
    }
    return LinePlace(line: line, list: list)
  }
}

/// What a line of a list has in the columns of its job, beside its URL.
package struct LineColumns: Hashable, Sendable {
  /// A JSON array with a value for each column, in their order: a text, any other value, or `null`; empty if the line
  /// has no columns.
  package let json: String

  /// The longest. A frame takes several.
  package static let maximumByteCount = 64 << 10
  /// A job has at most so many columns, and so many bytes of their names.
  package static let maximumCount = 1_000
  package static let maximumNameByteCount = 32 << 10

  package static let none = LineColumns(unchecked: "")

  private init(unchecked json: String) { self.json = json }

  /// Those of a table, which are texts.
  ///
  /// - Returns: `nil` if they are too long.
  package init?(texts: [String]) {
    let json = Fields.json(of: texts)
    guard json.count <= Self.maximumByteCount else { return nil }
    self.json = String(decoding: json, as: UTF8.self)
  }

  /// - Parameter values: each a value of JSON; `nil` for none.
  /// - Returns: `nil` if they are too long.
  package init?(_ values: [[UInt8]?]) {
    var json: [UInt8] = [UInt8(ascii: "[")]
    for (index, value) in values.enumerated() {
      if index > 0 { json.append(UInt8(ascii: ",")) }
      json += value ?? Array("null".utf8)
    }
    json.append(UInt8(ascii: "]"))
    guard json.count <= Self.maximumByteCount else { return nil }
    self.json = String(decoding: json, as: UTF8.self)
  }
}

@_spi(Coding) extension LineColumns: WrappingValue {
  /// The JSON.
  public var coded: String { json }

  /// See ``WrappingValue``.
  public init(coded json: String) throws {
    guard json.utf8.count <= Self.maximumByteCount else { throw InvalidCoding("too long") }
    self.json = json
  }
}

/// A line of a list.
package struct ListLine: Hashable, Sendable {
  package let text: String
  /// `nil` if it is in no list.
  package let place: LinePlace?
  package let columns: LineColumns

  package init(_ text: String, at place: LinePlace? = nil, columns: LineColumns = .none) {
    self.text = text
    self.place = place
    self.columns = columns
  }
}

/// Consecutive lines of a job, where they stand in its lists, and what they have in columns.
package struct ListLines: Hashable, Sendable {
  /// A line whose place does not follow from that of the line before.
  package struct Start: Hashable, Sendable, Fielded {
    /// The position among the texts.
    package let offset: Int
    /// `nil` if it is in no list, as all lines up to the next start.
    package let place: LinePlace?

    fileprivate init(offset: Int, place: LinePlace?) {
      self.offset = offset
      self.place = place
    }

    package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      offset = try f.field("at", value?.offset)
      place = try LinePlace.optional(&f, value?.place)
    }
  }

  package private(set) var texts: [String]
  /// What the lines have in columns; empty if none has any, otherwise one for each line.
  package private(set) var columns: [LineColumns] = []
  /// In ascending order. Lines before the first one have no place; all others follow the start before them
  /// line by line.
  package private(set) var starts: [Start] = []

  /// - Parameter texts: lines without places.
  package init(_ texts: [String] = []) {
    self.texts = texts
  }

  /// Adds a line.
  package mutating func append(_ line: ListLine) {
    if place(of: texts.count) != line.place {
      starts.append(Start(offset: texts.count, place: line.place))
    }
    if line.columns != .none, columns.isEmpty {
      columns = Array(repeating: .none, count: texts.count)
    }
    if !columns.isEmpty || line.columns != .none { columns.append(line.columns) }
    texts.append(line.text)
  }

  package var count: Int { texts.count }
  package var isEmpty: Bool { texts.isEmpty }

  /// The place of a line; the next place for the end of the lines.
  package func place(of offset: Int) -> LinePlace? {
    guard let start = starts.last(where: { $0.offset <= offset }) else { return nil }
    return start.place?.advanced(by: offset - start.offset)
  }

  /// Calls `body` with each line, in order.
  package func forEach(_ body: (ListLine) -> Void) {
    var rest = starts[...]
    var place: LinePlace?
    for (offset, text) in texts.enumerated() {
      place = place?.advanced(by: 1)
      if rest.first?.offset == offset { place = rest.removeFirst().place }
      body(ListLine(text, at: place, columns: columns.isEmpty ? .none : columns[offset]))
    }
  }

  /// The same lines with other texts.
  package func mapTexts(_ transform: (String) -> String) -> ListLines {
    var lines = self
    lines.texts = texts.map(transform)
    return lines
  }
}

extension ListLines: ExpressibleByArrayLiteral {
  package init(arrayLiteral texts: String...) {
    self.init(texts)
  }
}

extension ListLines: Fielded {
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    columns = try f.field("columns", value?.columns, default: [])
    texts = try f.field("lines", value?.texts)
    starts = try f.field("starts", value?.starts, default: [])
    guard columns.isEmpty || columns.count == texts.count else {
      throw f.invalid("columns", "not one for each line")
    }
    let offsets = starts.map(\.offset)
    guard zip(offsets, offsets.dropFirst()).allSatisfy(<),
      offsets.allSatisfy(texts.indices.contains)
    else { throw f.invalid("starts", "not in the order of the lines") }
  }
}

/// A row of a list that is a line of a job, and fails.
package enum UnusableRow: String, CaseIterable {
  case missingURL = "no URL in: "
  case longColumns = "columns too long in: "

  /// - Returns: `nil` for any other line of a job.
  package init?(ofLine line: String) {
    guard let row = Self.allCases.first(where: { line.hasPrefix($0.rawValue) }) else { return nil }
    self = row
  }

  /// The line of the job.
  ///
  /// - Parameter row: the text of the row, or the beginning of that.
  package func line(of row: String) -> String {
    rawValue + String(row.map { $0.isNewline || $0 == "\t" ? " " : $0 })
  }

  var reason: String {
    switch self {
    case .missingURL: "this row of the list has no URL"
    case .longColumns:
      "the columns of this row have more than \(LineColumns.maximumByteCount >> 10) KiB"
    }
  }
}
