import ImgModel

/// The header fields of a response that a cache reads: of a head, or of a record that was kept.
struct CachingFields: Equatable, Sendable {
  /// Fields that a later response may leave out and mean the same, in the order of a record. Date
  /// and Age belong to one response alone.
  private static let keptNames: [HeadField.Name] = [
    .cacheControl, .entityTag, .expires, .lastModified, .vary,
  ]
  private static let names = keptNames + [.age, .date]

  /// Longer values are not kept.
  static let maximumKeptByteCount = EntityTag.maximumByteCount

  private var values: [HeadField.Name: String] = [:]
  /// The URL that issued the validators, where a redirect led to it; `nil` for the URL of the
  /// request.
  private(set) var issuer: String?

  /// Begins the line of a record that names the issuer. No line of a head reads like it: the name
  /// of a field is never empty.
  private static let issuerPrefix = ":issuer: "

  /// Those of a head.
  init(_ fields: HeadFields) {
    for name in Self.names { values[name] = fields[name] }
  }

  /// Those of a record.
  init(_ terms: ReuseTerms) {
    var fields = HeadFields()
    var issuer: String?
    for line in terms.fields.split(separator: "\n") {
      if line.hasPrefix(Self.issuerPrefix) {
        issuer = String(line.dropFirst(Self.issuerPrefix.count))
      } else {
        fields.take(line: line.utf8)
      }
    }
    self.init(fields)
    self.issuer = issuer
  }

  subscript(name: HeadField.Name) -> String? { values[name] }

  /// The entity tag; `nil` without one, and for a field that holds no tag.
  var entityTag: EntityTag? { values[.entityTag].flatMap(EntityTag.init) }

  var cacheControl: CacheControl { CacheControl(values[.cacheControl] ?? "") }

  /// The fields as those of a response of that URL. Validators of a URL that is not kept are
  /// dropped, because no later request could name it.
  func issued(by issuer: ValidatorIssuer) -> CachingFields {
    var fields = self
    switch issuer {
    case .requestURL: fields.issuer = nil
    case .redirectTarget(let url): fields.issuer = url
    case .unnamed:
      for name in [HeadField.Name.entityTag, .lastModified] { fields.values[name] = nil }
    }
    return fields
  }

  /// These fields as a newer response of the same URL changes them (RFC 9111 section 3.2).
  func updated(by newer: CachingFields) -> CachingFields {
    var updated = newer
    updated.issuer = issuer
    for name in Self.keptNames where newer.values[name] == nil {
      updated.values[name] = values[name]
    }
    return updated
  }

  /// The text that a record keeps. Values that are too long or not of ASCII are left out.
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
