/// The fields of one head that this program reads, by name.
struct HeadFields: Equatable, Sendable {
  private var lines: [HeadField.Name: [String]] = [:]

  /// Takes one line, with or without its line end, if it is a field that this program reads.
  mutating func take(line: some BidirectionalCollection<UInt8>) {
    guard let field = HeadField(line) else { return }
    lines[field.name, default: []].append(field.value)
  }

  /// The values of the lines with that name, in the order in which they came.
  func values(of name: HeadField.Name) -> [String] { lines[name] ?? [] }

  /// One value for all lines with that name, joined by commas (RFC 9110 section 5.3); `nil` when
  /// there is no such line. Two lines of a field that has only one value give an invalid value.
  subscript(name: HeadField.Name) -> String? {
    lines[name].map { $0.joined(separator: ", ") }
  }

  /// The members of a field that is a list; none when there is no such line.
  func members(of name: HeadField.Name) -> [String] {
    self[name].map(FieldList.members) ?? []
  }
}
