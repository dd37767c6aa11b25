/// A header field (RFC 9110 section 5) that a user adds to requests.
///
/// Its value may be a secret: logs and outputs for people omit it, see ``encode(to:)``.
package struct HeaderField: Hashable, Sendable {
  /// In lower case, because names are case-insensitive (RFC 9110 section 5.1).
  package let name: String
  /// Without surrounding white space, which is not part of a value (RFC 9110 section 5.5).
  package let value: String
  /// The host whose URLs it is sent with, see ``ImageURL/host``; `nil` for every URL that it is given for.
  /// Redirects to another origin get it in neither case.
  package let host: String?
  /// Whether the value was removed, see ``withoutValue``.
  private let lacksValue: Bool

  /// - Throws: ``InvalidFetchOption`` for an invalid name or value, and for a field that users may
  ///   not set. The error text does not contain the value.
  package init(name: String, value: String) throws(InvalidFetchOption) {
    try self.init(name: name, value: value, onlyTo: nil)
  }

  /// - Parameter host: see ``host``.
  /// - Throws: as ``init(name:value:)`` does.
  package init(name: String, value: String, onlyTo host: String?) throws(InvalidFetchOption) {
    guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte) else {
      throw InvalidFetchOption(
        "a header name must consist of letters, digits and !#$%&'*+-.^_`|~")
    }
    let name = name.lowercased()
    if let reason = Self.reasonForRefusing(name) {
      throw InvalidFetchOption("the header \(name) cannot be set: \(reason)")
    }
    let bytes = value.utf8.withoutOuterWhiteSpace
    guard bytes.allSatisfy(Self.isValueByte) else {
      throw InvalidFetchOption("the value of the header \(name) contains a control character")
    }
    self.name = name
    self.value = String(decoding: bytes, as: UTF8.self)
    self.host = host
    lacksValue = false
  }

  /// The field of cookies, for the name of a picture: libcurl writes the one that is sent.
  init(cookies: Cookies) {
    name = "cookie"
    value = cookies.text
    host = nil
    lacksValue = false
  }

  private init(withoutValue field: HeaderField) {
    name = field.name
    value = ""
    host = field.host
    lacksValue = true
  }

  /// The field for a use that must not know the value.
  package var withoutValue: HeaderField { HeaderField(withoutValue: self) }

  /// RFC 9110 section 5.6.2.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
    }
  }

  /// RFC 9110 section 5.5: no control characters except the tab. CR, LF and NUL would begin another
  /// field.
  private static func isValueByte(_ byte: UInt8) -> Bool {
    byte == 0x09 || (byte >= 0x20 && byte != 0x7F)
  }

  private static func reasonForRefusing(_ name: String) -> String? {
    switch name {
    case "host", "content-length":
      "imgctl sets it itself"
    // RFC 9110 section 7.6.1; RFC 9113 section 3.1 for the last one.
    case "connection", "keep-alive", "proxy-authenticate", "proxy-authorization",
      "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings":
      "it controls the connection, not the request"
    case "expect":
      "a request for a picture has no body"
    case "range":
      "imgctl requests whole pictures"
    case "accept-encoding":
      "imgctl requests pictures without content encoding"
    case "cookie", "cookie2":
      "--cookies FILE sends cookies to their own sites alone"
    case _ where name.hasPrefix("if-"):
      "imgctl sends its own conditions when it revalidates"
    default: nil
    }
  }
}

extension HeaderField: Codable {
  private enum CodingKeys: String, CodingKey {
    case name, value, host
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let name = try container.decode(String.self, forKey: .name)
    let value = try container.decode(String.self, forKey: .value)
    let host = try container.decodeIfPresent(String.self, forKey: .host)
    self = try decoder.checked { try HeaderField(name: name, value: value, onlyTo: host) }
  }

  /// Omits the value if it was removed, or if the output is for people, see
  /// ``CodingUserInfoKey/isForPeople``.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(name, forKey: .name)
    try container.encodeIfPresent(host, forKey: .host)
    guard encoder.userInfo[.isForPeople] == nil, !lacksValue else { return }
    try container.encode(value, forKey: .value)
  }
}

extension CodingUserInfoKey {
  /// Set in an encoder whose output people read. Values that may be secrets are then omitted.
  package static var isForPeople: CodingUserInfoKey {
    guard let key = CodingUserInfoKey(rawValue: "imgctl.isForPeople") else {
      preconditionFailure("any text is a valid key")
    }
    return key
  }
}
