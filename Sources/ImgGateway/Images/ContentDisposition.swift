import ImgClient

/// The name under which a browser saves an answer (RFC 6266).
struct ContentDisposition {
  /// The value of the field.
  let text: String

  /// - Parameter type: its extension replaces that of the name.
  /// - Returns: `nil` for a query that says nothing of it.
  init?(_ query: ImageQuery, _ type: ImageType) {
    let kind = query.isAttachment ? "attachment" : "inline"
    guard let fileName = query.fileName else {
      guard query.isAttachment else { return nil }
      text = kind
      return
    }
    let stem = fileName.lastIndex(of: ".").map { String(fileName[..<$0]) } ?? fileName
    let name = "\(stem.isEmpty ? "image" : stem).\(type.fileExtension)"
    let plainStem = String(decoding: stem.utf8.filter(Self.isPlain), as: UTF8.self)
    let plain = "\(plainStem.isEmpty ? "image" : plainStem).\(type.fileExtension)"
    let escaped = name.utf8.map { byte in
      Self.isUnreserved(byte)
        ? String(Unicode.Scalar(byte)) : "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16))"
    }
    text = "\(kind); filename=\"\(plain)\"; filename*=UTF-8''\(escaped.joined())"
  }

  /// A character of a quoted string that needs no escape and is no part of a path.
  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x20..<0x7F).contains(byte) && !"\"\\/%".utf8.contains(byte)
  }

  /// A character that stands for itself in an extended value (RFC 8187, section 3.2.1).
  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: "-._~".utf8.contains(byte)
    }
  }
}
