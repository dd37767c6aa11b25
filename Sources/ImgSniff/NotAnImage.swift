/// Describes a body that is no picture by its first bytes, so that people see at once that an
/// origin answered with a page of its own.
enum NotAnImage {
  static func reason(of head: ArraySlice<UInt8>) -> String {
    guard !head.isEmpty else { return "the body is empty" }
    let start = String(decoding: head, as: UTF8.self).drop(while: \.isWhitespace).lowercased()
    if ["<!doctype html", "<html", "<head", "<body", "<script"].contains(where: start.hasPrefix) {
      return "the body is an HTML page"
    }
    if start.hasPrefix("{") || start.hasPrefix("[") { return "the body looks like JSON" }
    if start.hasPrefix("<") { return "the body is XML, but no SVG" }
    return "the first bytes match no image format"
  }
}
