import ImgModel

/// A line of a head with a field that this program reads.
struct HeadField {
  enum Name: CaseIterable {
    case acceptRanges, age, cacheControl, contentEncoding, contentLength, contentRange
    case contentType, date, entityTag, expires, lastModified, location, retryAfter, robotsTag,
      transferEncoding, vary

    /// In lower case.
    var text: String {
      switch self {
      case .acceptRanges: "accept-ranges"
      case .age: "age"
      case .cacheControl: "cache-control"
      case .contentEncoding: "content-encoding"
      case .contentLength: "content-length"
      case .contentRange: "content-range"
      case .contentType: "content-type"
      case .date: "date"
      case .entityTag: "etag"
      case .expires: "expires"
      case .lastModified: "last-modified"
      case .location: "location"
      case .retryAfter: "retry-after"
      case .robotsTag: "x-robots-tag"
      case .transferEncoding: "transfer-encoding"
      case .vary: "vary"
      }
    }
  }

  let name: Name
  /// Without the white space around it.
  let value: String

  /// - Parameter line: with or without its line end.
  /// - Returns: `nil` for a line that is no field, and for a field that this program does not read.
  ///   Those are most of a head, and no text is made of them.
  init?(_ line: some BidirectionalCollection<UInt8>) {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), let name = Name(line[..<colon])
    else { return nil }
    var value = line[line.index(after: colon)...]
    while let last = value.last, last == UInt8(ascii: "\r") || last == UInt8(ascii: "\n") {
      value.removeLast()
    }
    self.name = name
    self.value = Self.text(value.withoutOuterWhiteSpace, of: name)
  }

  /// A reference that is not UTF-8 keeps its bytes, percent-encoded: each stands for itself in the
  /// URL.
  private static func text(_ bytes: some Collection<UInt8>, of name: Name) -> String {
    if name == .location, String(validating: bytes, as: UTF8.self) == nil {
      return bytes.map { $0 < 0x80 ? String(UnicodeScalar($0)) : "%" + String($0, radix: 16) }
        .joined()
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension HeadField.Name {
  /// - Parameter bytes: in either case (RFC 9110 section 5.1).
  fileprivate init?(_ bytes: some Collection<UInt8>) {
    let byteCount = bytes.count
    let match = Self.allCases.first { name in
      let text = name.text.utf8
      return text.count == byteCount && text.elementsEqual(bytes) { $0 == $1.asLowercaseASCII }
    }
    guard let match else { return nil }
    self = match
  }
}

extension UInt8 {
  fileprivate var asLowercaseASCII: UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
  }
}
