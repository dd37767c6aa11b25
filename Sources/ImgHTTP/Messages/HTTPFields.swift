/// The header fields of a message, in their order (RFC 9110, section 5).
package struct HTTPFields: Hashable, Sendable, ExpressibleByDictionaryLiteral {
  package struct Field: Hashable, Sendable {
    package let name: String
    package let value: String
  }

  package private(set) var fields: [Field]

  package init(_ fields: [Field] = []) {
    self.fields = fields
  }

  package init(dictionaryLiteral elements: (String, String)...) {
    self.init(elements.map { Field(name: $0, value: $1) })
  }

  /// The values of a name, whatever its case, separated by commas (section 5.3); `nil` without a field.
  package subscript(name: String) -> String? {
    guard let first = fields.firstIndex(where: { $0.name.isEqualIgnoringCase(to: name) }) else {
      return nil
    }
    return fields[first...].dropFirst().reduce(into: fields[first].value) { values, field in
      if field.name.isEqualIgnoringCase(to: name) { values += ", \(field.value)" }
    }
  }

  /// The values of the fields of a name, whatever its case, in their order.
  package func values(of name: String) -> [String] {
    fields.filter { $0.name.isEqualIgnoringCase(to: name) }.map(\.value)
  }

  /// Adds a field, also if there is one of its name.
  package mutating func add(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// Removes the fields of a name, whatever its case.
  package mutating func remove(_ name: String) {
    fields.removeAll { $0.name.isEqualIgnoringCase(to: name) }
  }
}

extension String {
  /// Whether two field names are equal: letters of ASCII are, in either case.
  fileprivate func isEqualIgnoringCase(to other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    return zip(utf8, other.utf8).allSatisfy { $0.asLowercase == $1.asLowercase }
  }
}

extension UInt8 {
  fileprivate var asLowercase: UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
  }
}
