import ImgClient
import ImgModel

/// The name under which a browser saves an answer (RFC 6266).
struct ContentDisposition {
  /// The value of the field.
  let text: String

  /// - Parameter type: its extension replaces that of the name.
  init(_ query: ImageQuery, _ type: ImageType) {
    let kind = query.isAttachment ? "attachment" : "inline"
    let fileName = query.fileName ?? Self.standardName(of: query)
    let stem = fileName.lastIndex(of: ".").map { String(fileName[..<$0]) } ?? fileName
    let name = "\(stem.isEmpty ? "image" : stem).\(type.fileExtension)"
    let plainStem = String(decoding: stem.utf8.filter(Self.isPlain), as: UTF8.self)
    let plain = "\(plainStem.isEmpty ? "image" : plainStem).\(type.fileExtension)"
    let escaped = name.utf8.map { byte in
      Self.isUnreserved(byte)
        ? String(Unicode.Scalar(byte)) : "%\(byte < 16 ? "0" : "")\(String(byte, radix: 16))"
    }
    text =
      name == plain
      ? "\(kind); filename=\"\(plain)\""
      : "\(kind); filename=\"\(plain)\"; filename*=UTF-8''\(escaped.joined())"
  }

  /// The name where a request has none, as each server has it.
  private static func standardName(of query: ImageQuery) -> String {
    switch query.service {
    case .weserv: return "image"
    case .picsum(let id): return id
    case .imgproxy:
      let path = query.request.url.prefix { $0 != "?" && $0 != "#" }
      guard path.contains("://") else { return "image" }
      let last = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(3).last
      let name = String(decoding: PercentEncoding.decoded((last ?? "").utf8), as: UTF8.self)
      return name.isEmpty ? "image" : name
    }
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
