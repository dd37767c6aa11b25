/// One field of a request's header section (RFC 9110 section 5) that somebody wants sent.
///
/// Its value may be a secret: it is written into no log and shown to nobody, see ``encode(to:)``.
package struct HeaderField: Hashable, Sendable {
  /// In lower case: names are the same in any case (RFC 9110 section 5.1).
  package let name: String
  /// Without white space at its ends, which is none of it (RFC 9110 section 5.5).
  package let value: String

  /// - Throws: ``InvalidFetchOption`` for what is no field, and for fields that are not a person's
  ///   to set. The value is not in its text.
  package init(name: String, value: String) throws(InvalidFetchOption) {
    guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte) else {
      throw InvalidFetchOption("a header's name is made of letters, digits and !#$%&'*+-.^_`|~")
    }
    let name = name.lowercased()
    if let reason = Self.reasonForRefusing(name) {
      throw InvalidFetchOption("the header \(name) cannot be set: \(reason)")
    }
    let bytes = value.utf8.withoutOuterWhiteSpace
    guard bytes.allSatisfy(Self.isValueByte) else {
      throw InvalidFetchOption("the value of the header \(name) holds a control character")
    }
    self.name = name
    self.value = String(decoding: bytes, as: UTF8.self)
  }

  /// RFC 9110 section 5.6.2.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }

  /// RFC 9110 section 5.5: neither CR, LF nor NUL, which would begin another field, nor any other
  /// control character but the tab.
  private static func isValueByte(_ byte: UInt8) -> Bool {
    byte == 0x09 || (byte >= 0x20 && byte != 0x7F)
  }

  private static func reasonForRefusing(_ name: String) -> String? {
    switch name {
    case "host", "content-length":
      "it is written by the fetch itself"
    // RFC 9110 section 7.6.1; RFC 9113 section 3.1 for the last one.
    case "connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
      "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings":
      "it is about one connection, not about what is asked for"
    case "expect":
      "a request for a picture has no body"
    case "range":
      "pictures are asked for whole"
    case "accept-encoding":
      "pictures are taken as they are stored, not compressed once more"
    case "cookie", "cookie2":
      "cookies are never sent"
    case _ where name.hasPrefix("if-"):
      "the store asks on conditions of its own"
    default: nil
    }
  }
}

extension HeaderField: Codable {
  private enum CodingKeys: String, CodingKey {
    case name, value
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let name = try container.decode(String.self, forKey: .name)
    let value = try container.decode(String.self, forKey: .value)
    self = try decoder.checked { try HeaderField(name: name, value: value) }
  }

  /// Without the value where an encoder writes for people, see ``CodingUserInfoKey/isForPeople``.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    guard encoder.userInfo[.isForPeople] == nil else { return }
    try container.encode(value, forKey: .value)
  }
}

extension CodingUserInfoKey {
  /// Set in an encoder whose text is shown: what may be a secret is then left out.
  package static var isForPeople: CodingUserInfoKey {
    guard let key = CodingUserInfoKey(rawValue: "imgctl.isForPeople") else {
      preconditionFailure("every text makes a key")
    }
    return key
  }
}
