import ImgGateway
import ImgHTTP
import Testing

@Suite struct RequestTargetTests {
  @Test(
    arguments: [
      ("/", "/", nil, [""]), ("/image?url=a&w=1", "/image", "url=a&w=1", ["image"]),
      ("/a/b%2Fc//d/?", "/a/b%2Fc//d/", "", ["a", "b%2Fc", "", "d", ""]),
      ("/plain/https://h/a?b?c", "/plain/https://h/a", "b?c", ["plain", "https:", "", "h", "a"]),
    ] as [(String, String, String?, [Substring])])
  func `a target is a path and maybe a query`(
    text: String, path: String, query: String?, segments: [Substring]
  ) throws {
    let target = try RequestTarget(text)
    #expect(target.text == text)
    #expect(target.path == path)
    #expect(target.query == query)
    #expect(target.segments == segments)
  }

  @Test(arguments: [
    "", "*", "image", "http://h/image", "/a b", "/a\u{7F}", "/a\n", "/a#b", "/a\0",
    "\u{FEFF}/a",
  ])
  func `other targets are refused`(text: String) throws {
    let rejection = try #require(throws: RequestRejection.self) { try RequestTarget(text) }
    #expect(rejection.status == .badRequest)
    #expect(rejection.code == "malformed_target")
  }

  @Test(
    arguments: [
      ("", []), ("a", [("a", "")]), ("a=", [("a", "")]), ("a=b=c", [("a", "b=c")]),
      ("&&a=1&&b=2&", [("a", "1"), ("b", "2")]), ("%61=%26%3D%25", [("a", "&=%")]),
      ("a=b+c", [("a", "b+c")]), ("a=%2541", [("a", "%41")]), ("a=%C3%BC", [("a", "ü")]),
      ("=x", [("", "x")]), ("a=1&a=2", [("a", "1"), ("a", "2")]),
    ] as [(String, [(String, String)])])
  func `a query is decoded once`(query: String, expected: [(String, String)]) throws {
    let parameters = try RequestTarget("/?" + query).parameters().parameters
    #expect(parameters.map(\.name) == expected.map(\.0))
    #expect(parameters.map(\.value) == expected.map(\.1))
  }

  @Test(arguments: [
    "%", "%4", "%zz", "a=%", "a=%g1", "a=%+1", "a=%00", "%00", "a=%FF", "a=%C3", "a=%C0%AF",
    "a=%ED%A0%80", "a=%F4%90%80%80",
  ])
  func `escapes that are no text are refused`(query: String) throws {
    let target = try RequestTarget("/?" + query)
    let rejection = try #require(throws: RequestRejection.self) { try target.parameters() }
    #expect(rejection.status == .badRequest)
  }

  @Test func `a query has a maximum number of parameters`() throws {
    let limit = QueryParameters.maximumCount
    let names = (0..<limit).map { "p\($0)" }
    #expect(try QueryParameters(names.joined(separator: "&")).parameters.count == limit)
    #expect(throws: RequestRejection.self) {
      try QueryParameters((names + ["q"]).joined(separator: "&"))
    }
  }
}
