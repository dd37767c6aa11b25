import FoundationEssentials
import ImgModel
import Testing

/// Which headers users may set, and what outputs show of them.
@Suite(.timeLimit(.minutes(20))) struct HeaderFieldTests {
  @Test(arguments: [
    ("Referer", "https://example.org/", "referer", "https://example.org/"),
    ("AUTHORIZATION", " \tBearer a=b  ", "authorization", "Bearer a=b"),
    ("x-!#$%&'*+.^_`|~9", "", "x-!#$%&'*+.^_`|~9", ""),
    ("Accept", "image/jpeg", "accept", "image/jpeg"),
    ("X-Name", "Zoë\tQ", "x-name", "Zoë\tQ"),
  ])
  func `a field is normalised`(name: String, value: String, known: String, sent: String) throws {
    let field = try HeaderField(name: name, value: value)
    #expect(field.name == known)
    #expect(field.value == sent)
  }

  @Test(arguments: ["", "a b", "a:", "ä", "a\r", "a\n", "a(", "a/b", "a\0"])
  func `a name that is not a token is refused`(name: String) {
    #expect(throws: InvalidFetchOption.self) { try HeaderField(name: name, value: "x") }
  }

  @Test(arguments: ["a\rb", "a\nb", "a\r\nb: c", "a\0b", "a\u{7F}b", "a\u{1B}b", "a\n"])
  func `a value with a control character is refused`(value: String) {
    #expect(throws: InvalidFetchOption.self) { try HeaderField(name: "x-a", value: value) }
  }

  @Test(arguments: [
    "Host", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "TE", "Trailer",
    "Upgrade", "Proxy-Connection", "Proxy-Authorization", "Proxy-Authenticate", "HTTP2-Settings",
    "Expect", "Range", "If-Range", "If-None-Match", "If-Modified-Since", "If-Match",
    "Accept-Encoding", "Cookie", "cookie",
  ])
  func `fields that users may not set are refused with a reason`(name: String) {
    let error = #expect(throws: InvalidFetchOption.self) {
      try HeaderField(name: name, value: "a secret")
    }
    #expect(error?.description.hasPrefix("the header \(name.lowercased()) cannot be set: ") == true)
    #expect(error?.description.contains("secret") == false)
  }

  @Test func `fields are sorted by name and keep their order within a name`() throws {
    let fields = try [("b", "1"), ("a", "2"), ("B", "0")].map(HeaderField.init)
    let sorted = try HeaderFields(fields)
    #expect(sorted.map(\.name) == ["a", "b", "b"])
    #expect(sorted.map(\.value) == ["2", "1", "0"])
    #expect(try HeaderFields([fields[1], fields[0], fields[2]]) == sorted)
    #expect(try HeaderFields([fields[2], fields[1], fields[0]]) != sorted)
  }

  @Test func `the number and the size of headers are limited`() throws {
    let fields = try (0...HeaderFields.maximumCount).map {
      try HeaderField(name: "a\($0)", value: "")
    }
    #expect(try HeaderFields(fields.dropLast()).count == HeaderFields.maximumCount)
    #expect(throws: InvalidFetchOption.self) { try HeaderFields(fields) }
    let room = HeaderFields.maximumByteCount - "a: \r\n".utf8.count
    let largest = try HeaderField(name: "a", value: String(repeating: "x", count: room))
    #expect(try HeaderFields([largest]).count == 1)
    let larger = try HeaderField(name: "a", value: largest.value + "x")
    #expect(throws: InvalidFetchOption.self) { try HeaderFields([larger]) }
  }

  @Test(arguments: [
    #"[{"name":"cookie","value":"a"}]"#, #"[{"name":"x-a","value":"a\r\nb"}]"#,
    #"[{"name":"x a","value":"a"}]"#, #"[{"name":"x-a"}]"#,
  ])
  func `decoding validates fields`(json: String) {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(HeaderFields.self, from: Data(json.utf8))
    }
  }

  @Test func `values are encoded, but not for people`() throws {
    let options = FetchOptions(
      headers: try HeaderFields([HeaderField(name: "Authorization", value: "secret")]))
    let encoder = JSONEncoder()
    let sent = try encoder.encode(options)
    #expect(try JSONDecoder().decode(FetchOptions.self, from: sent) == options)
    encoder.userInfo[.isForPeople] = true
    let shown = String(decoding: try encoder.encode(options), as: UTF8.self)
    #expect(shown.contains("authorization"))
    #expect(!shown.contains("secret"))
  }
}
