/// What is known of the answer under way from the lines of its head: the status, and the length it
/// declares.
///
/// A transfer sees several heads one after the other: interim answers (RFC 9110 section 15.2) and
/// redirects come before the last one. Each begins with a status line, which starts anew.
struct ResponseHead: Equatable {
  /// `nil` until a status line came.
  private(set) var status: Int?
  /// The declared length of the body; `nil` when there is none or it makes no sense. A hint for
  /// reserving memory: that the length is kept is libcurl's to check.
  private(set) var contentLength: Int?

  /// Takes one line, with or without its line end.
  /// - Returns: whether it was a status line, with which a new answer begins.
  mutating func take(line: some Collection<UInt8>) -> Bool {
    if let status = Self.status(of: line) {
      self = ResponseHead(status: status)
      return true
    }
    if let length = Self.contentLength(of: line) { contentLength = length }
    return false
  }

  /// `HTTP/1.1 200 OK` or, as libcurl spells an answer by HTTP/2, `HTTP/2 200`.
  private static func status(of line: some Collection<UInt8>) -> Int? {
    guard line.starts(with: "HTTP/".utf8) else { return nil }
    let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
    guard fields.count >= 2 else { return nil }
    return Int(String(decoding: fields[1].prefix(3), as: UTF8.self))
  }

  private static func contentLength(of line: some Collection<UInt8>) -> Int? {
    let name = "content-length:".utf8
    guard line.prefix(name.count).elementsEqual(name, by: { $0 | 0x20 == $1 | 0x20 }) else {
      return nil
    }
    let digits = line.dropFirst(name.count).filter { $0 > UInt8(ascii: " ") }
    guard let length = Int(String(decoding: digits, as: UTF8.self)), length >= 0 else { return nil }
    return length
  }
}

extension ResponseHead {
  private init(status: Int) {
    self.init()
    self.status = status
  }
}
