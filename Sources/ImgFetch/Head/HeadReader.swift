import ImgModel

/// Reads the heads of the responses to one request, line by line.
///
/// A transfer sees several heads one after the other: interim responses (RFC 9110 section 15.2)
/// come before the last one. Each begins with a status line, which forgets the one before.
struct HeadReader {
  /// What a line completes.
  enum Progress {
    case incomplete
    case complete(ResponseHead)
    /// All heads together are longer than ``maximumByteCount``.
    case tooLong
  }

  /// The limit of the heads of all responses to a request together. Redirects and interim responses
  /// would otherwise be a way around it.
  static let maximumByteCount = 64 << 10

  /// Bytes of the heads of all responses, also of those before a redirect.
  private(set) var byteCount: Int
  /// Of the last status line; `nil` before the first.
  private(set) var status: Int?
  /// The last head; `nil` until it is complete.
  private(set) var head: ResponseHead?
  private var fields = HeadFields()
  private var receivedAt = WallTime.distantPast

  /// - Parameter byteCount: what the request's earlier responses took.
  init(byteCount: Int = 0) {
    self.byteCount = byteCount
  }

  var isTooLong: Bool { byteCount > Self.maximumByteCount }

  /// Takes one line, with or without its line end. Lines after a complete head are trailers, whose
  /// fields are not the head's (RFC 9110 section 6.5.1).
  ///
  /// - Parameter now: read at the first line of a response.
  mutating func take(
    line: some BidirectionalCollection<UInt8>, at now: @autoclosure () -> WallTime
  ) -> Progress {
    byteCount += line.count
    if let status = statusOfNextHead(in: line) {
      self.status = status
      (head, fields, receivedAt) = (nil, HeadFields(), now())
    } else if head == nil, let status,
      line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8)
    {
      head = ResponseHead(status: status, fields: fields, receivedAt: receivedAt)
      if !isTooLong, let head { return .complete(head) }
    } else if head == nil {
      fields.take(line: line)
    }
    return isTooLong ? .tooLong : .incomplete
  }

  /// In the middle of a head, and after the last one, such a line is a field with an odd name.
  private func statusOfNextHead(in line: some Collection<UInt8>) -> Int? {
    guard status == nil || head?.isInterim == true else { return nil }
    return Self.status(of: line)
  }

  /// `HTTP/1.1 200 OK` or, as libcurl spells a response by HTTP/2, `HTTP/2 200`.
  private static func status(of line: some Collection<UInt8>) -> Int? {
    guard line.starts(with: "HTTP/".utf8) else { return nil }
    let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") }
    let rest = line.drop { !isBlank($0) }.drop(while: isBlank)
    return Int(String(decoding: rest.prefix { !isBlank($0) }.prefix(3), as: UTF8.self))
  }
}
