import ImgModel

/// The header fields of an answer by which a cache goes.
struct CachingFields: Equatable, Sendable {
  /// What a later answer may leave out and mean the same, in the order of a record. Date and Age are
  /// an answer's own.
  private static let keptNames: [HeadField.Name] = [
    .cacheControl, .entityTag, .expires, .lastModified, .vary,
  ]

  /// What is longer is not kept.
  static let maximumKeptByteCount = 512

  private var values: [HeadField.Name: String] = [:]
  /// The URL that issued the validators, where a redirect led to it; `nil` for the URL that was asked
  /// for.
  private(set) var issuer: String?

  /// Begins the line of a record that names the issuer. No line of a head can be taken for it: the
  /// name of a field is never empty.
  private static let issuerPrefix = ":issuer: "

  init() {}

  /// Those of a record.
  init(_ terms: ReuseTerms) {
    for line in terms.fields.split(separator: "\n") {
      if line.hasPrefix(Self.issuerPrefix) {
        issuer = String(line.dropFirst(Self.issuerPrefix.count))
      } else {
        take(line: line.utf8)
      }
    }
  }

  /// The fields are of the answer of this URL. Of one that cannot be named later, there is nothing to
  /// ask about.
  mutating func note(_ issuer: ValidatorIssuer) {
    switch issuer {
    case .requestURL: self.issuer = nil
    case .redirectTarget(let url): self.issuer = url
    case .unnamed: Self.validatorNames.forEach { values[$0] = nil }
    }
  }

  private static let validatorNames: [HeadField.Name] = [.entityTag, .lastModified]

  subscript(name: HeadField.Name) -> String? { values[name] }

  /// Takes one line of a header section, with or without its line end, if it is one of them.
  mutating func take(line: some BidirectionalCollection<UInt8>) {
    if let field = HeadField(line) { take(field) }
  }

  /// Takes a field, if it is one of them. Lines of one name come to one value, with commas between
  /// them (RFC 9110 section 5.3).
  mutating func take(_ field: HeadField) {
    guard field.name == .age || field.name == .date || Self.keptNames.contains(field.name) else {
      return
    }
    values[field.name] = values[field.name].map { "\($0), \(field.value)" } ?? field.value
  }

  /// These fields as a newer answer of the same URL changes them (RFC 9111 section 3.2).
  func updated(by newer: CachingFields) -> CachingFields {
    var updated = newer
    updated.issuer = issuer
    for name in Self.keptNames where newer.values[name] == nil {
      updated.values[name] = values[name]
    }
    return updated
  }

  /// What a record keeps of them. A field that is too long, or not of ASCII, is not among it.
  var keptText: String {
    let lines = Self.keptNames.compactMap { name -> String? in
      guard let value = values[name], value.utf8.count <= Self.maximumKeptByteCount,
        value.utf8.allSatisfy({ (0x20...0x7E).contains($0) || $0 == UInt8(ascii: "\t") })
      else { return nil }
      return "\(name.text): \(value)"
    }
    return (issuer.map { ["\(Self.issuerPrefix)\($0)"] + lines } ?? lines)
      .joined(separator: "\n")
  }
}
