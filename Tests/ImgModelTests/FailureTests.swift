import FoundationEssentials
import ImgModel
import Testing

@Suite struct FailureTests {
  @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
  func `a temporary status is retryable`(status: Int) {
    #expect(Failure.Code.httpStatus.isRetryable(httpStatus: status))
  }

  @Test(arguments: [400, 401, 403, 404, 410, 451])
  func `a permanent status is not retryable`(status: Int) {
    #expect(!Failure.Code.httpStatus.isRetryable(httpStatus: status))
  }

  @Test func `a long detail is truncated`() {
    let failure = Failure(
      stage: .fetch, code: .internal, detail: String(repeating: "x", count: 10_000))
    #expect(failure.detail.utf8.count == Failure.maximumDetailByteCount)
  }

  /// What `printable` replaces, one of each kind: C0, DEL, C1, a separator, bidirectional controls.
  static let obeyed = [
    "\u{1B}]0;x\u{07}", "\r\n", "\u{7F}", "\u{9B}31m", "\u{2028}", "\u{202E}", "\u{2066}",
  ]

  @Test(arguments: obeyed)
  func `a detail has nothing that a terminal would obey`(text: String)
    throws
  {
    let made = Failure(stage: .fetch, code: .invalidResponse, detail: "a\(text)é")
    #expect(made.detail.unicodeScalars.allSatisfy { $0.isPrintable })
    #expect(made.detail.hasPrefix("a\u{FFFD}") && made.detail.hasSuffix("é"))
    // As a peer may send it.
    let detail = String(decoding: try JSONEncoder().encode("a\(text)é"), as: UTF8.self)
    let sent = String(decoding: try JSONEncoder().encode(made), as: UTF8.self)
      .replacing("\"\(made.detail)\"", with: detail)
    #expect(try JSONDecoder().decode(Failure.self, from: Data(sent.utf8)) == made)
  }

  @Test(arguments: obeyed)
  func `JSON for terminals is escaped, and says the same`(text: String) throws {
    let encoded = String(decoding: try JSONEncoder().encode([text]), as: UTF8.self)
    let escaped = encoded.escapedForTerminals
    #expect(escaped.unicodeScalars.allSatisfy { $0.isPrintable })
    #expect(try JSONDecoder().decode([String].self, from: Data(escaped.utf8)) == [text])
  }

  @Test func `a text of several lines keeps its line feeds`() {
    #expect("a\u{9B}\nb\r\n\n".printableLines == "a\u{FFFD}\nb\u{FFFD}\n\n")
    #expect("ünï — 字 👩‍👩‍👧".printable == "ünï — 字 👩‍👩‍👧")
  }
}
