/// A URL that is in its normal spelling already, as most lines of lists are: `http:` or `https:`, a host
/// name of lower-case letters, digits and `-._~`, maybe a port, and no byte that has to be escaped.
///
/// It takes one pass to recognise. ``ImageURL`` makes the same of it in several.
struct NormalURL {
  let text: String
  let host: String
  let origin: String

  private static let schemes = ["https://", "http://"]

  /// - Returns: `nil` for any other URL, valid or not.
  init?(_ text: String) {
    let bytes = text.utf8
    guard let scheme = Self.schemes.first(where: { bytes.starts(with: $0.utf8) }),
      bytes.count <= ImageURL.maximumByteCount
    else { return nil }
    let hostStart = bytes.index(bytes.startIndex, offsetBy: scheme.utf8.count)
    let hostEnd = bytes[hostStart...].firstIndex { !HostName.isAllowed($0) } ?? bytes.endIndex
    guard hostEnd > hostStart, bytes[bytes.index(before: hostEnd)] != UInt8(ascii: ".") else {
      return nil
    }
    var end = hostEnd
    if end < bytes.endIndex, bytes[end] == UInt8(ascii: ":") {
      let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
      end = bytes[bytes.index(after: end)...].firstIndex { !digits.contains($0) } ?? bytes.endIndex
    }
    guard
      end == bytes.endIndex || bytes[end] == UInt8(ascii: "/") || bytes[end] == UInt8(ascii: "?"),
      bytes[end...].allSatisfy({ PercentEncoding.isPlain($0) && $0 != UInt8(ascii: "#") })
    else { return nil }
    self.text = text
    host = String(text[hostStart..<hostEnd])
    origin = String(text[..<end])
  }
}
