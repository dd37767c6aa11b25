import ImgWire

/// The header fields of an answer by which a cache goes.
struct CachingFields: Equatable, Sendable {
  enum Name: String, CaseIterable {
    case age
    case cacheControl = "cache-control"
    case date
    case entityTag = "etag"
    case expires
    case lastModified = "last-modified"
    case vary

    /// Whether a later answer may leave it out and mean the same. Date and Age are an answer's own.
    var isKept: Bool { self != .age && self != .date }
  }

  /// What is longer is not kept.
  static let maximumKeptByteCount = 512

  private var values: [Name: String] = [:]

  init() {}

  /// Those of a record.
  init(_ terms: ReuseTerms) {
    for line in terms.fields.split(separator: "\n") { take(line: line.utf8) }
  }

  subscript(name: Name) -> String? { values[name] }

  /// Takes one line of a header section, with or without its line end, if it is one of them. Lines
  /// of one name come to one value, with commas between them (RFC 9110 section 5.3).
  mutating func take(line: some Collection<UInt8>) {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
      let name = Name(rawValue: String(decoding: line[..<colon], as: UTF8.self).lowercased())
    else { return }
    let isBlank = { (byte: UInt8) in " \t\r\n".utf8.contains(byte) }
    var value = Array(line[line.index(after: colon)...].drop(while: isBlank))
    while value.last.map(isBlank) == true { value.removeLast() }
    let text = String(decoding: value, as: UTF8.self)
    values[name] = values[name].map { "\($0), \(text)" } ?? text
  }

  /// These fields as a newer answer changes them (RFC 9111 section 3.2).
  func updated(by newer: CachingFields) -> CachingFields {
    var updated = newer
    for (name, value) in values where name.isKept && newer.values[name] == nil {
      updated.values[name] = value
    }
    return updated
  }

  /// What a record keeps of them. A field that is too long, or not of ASCII, is not among it.
  var keptText: String {
    Name.allCases.filter(\.isKept).compactMap { name in
      guard let value = values[name], value.utf8.count <= Self.maximumKeptByteCount,
        value.utf8.allSatisfy({ (0x20...0x7E).contains($0) || $0 == UInt8(ascii: "\t") })
      else { return nil }
      return "\(name.rawValue): \(value)"
    }.joined(separator: "\n")
  }
}
