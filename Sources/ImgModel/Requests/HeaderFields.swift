/// Header fields, sorted by name so that equal sets compare equal. Fields of one name keep their
/// order, because it may matter (RFC 9110 section 5.3).
package struct HeaderFields: Hashable, Sendable {
  private let fields: [HeaderField]

  package static let maximumCount = 32
  /// The total size of the fields on the wire.
  package static let maximumByteCount = 8 << 10

  package static let none = HeaderFields(sorted: [])

  private init(sorted fields: [HeaderField]) {
    self.fields = fields
  }

  /// The fields without their values.
  package var withoutValues: HeaderFields { HeaderFields(sorted: fields.map(\.withoutValue)) }

  /// The fields that belong to one host each.
  package var boundToHosts: HeaderFields { HeaderFields(sorted: fields.filter { $0.host != nil }) }

  /// The fields that are sent with a request for a URL: the name of its picture tells of these alone. User
  /// and password in the URL are sent in place of those of its host (curl(1), `--netrc`).
  package func sent(to url: ImageURL) -> HeaderFields {
    guard fields.contains(where: { $0.host != nil }) else { return self }
    return HeaderFields(
      sorted: fields.filter { field in
        field.host.map { $0 == url.host && !url.hasUser } ?? true
      })
  }

  /// The fields with another one, unless there is one of its name.
  func adding(_ field: HeaderField) -> HeaderFields {
    guard !fields.contains(where: { $0.name == field.name }) else { return self }
    let earlier = fields.prefix { $0.name < field.name }
    return HeaderFields(sorted: earlier + [field] + fields.dropFirst(earlier.count))
  }

  /// - Throws: ``InvalidFetchOption`` if the fields exceed a limit.
  package init(_ fields: [HeaderField]) throws(InvalidFetchOption) {
    guard fields.count <= Self.maximumCount else {
      throw InvalidFetchOption("at most \(Self.maximumCount) headers can be set")
    }
    // Each field also has a colon, a space, CR and LF.
    let byteCount = fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
    guard byteCount <= Self.maximumByteCount else {
      throw InvalidFetchOption("headers can have at most \(Self.maximumByteCount) bytes in total")
    }
    self.fields = fields.enumerated()
      .sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
      .map(\.element)
  }
}

extension HeaderFields: RandomAccessCollection {
  package var startIndex: Int { fields.startIndex }
  package var endIndex: Int { fields.endIndex }
  package subscript(position: Int) -> HeaderField { fields[position] }
}

extension HeaderFields: Codable {
  package init(from decoder: any Decoder) throws {
    let decoded = try decoder.singleValueContainer().decode([HeaderField].self)
    self = try decoder.checked { try HeaderFields(decoded) }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(fields)
  }
}
