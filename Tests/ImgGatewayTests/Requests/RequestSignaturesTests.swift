import ImgClient
import ImgHTTP
import ImgModel
import ImgSettings
import Testing

@testable import ImgGateway

/// The vectors are those of imgproxy's documentation and of its examples.
@Suite struct RequestSignaturesTests {
  private func key(_ key: String, _ salt: String) throws -> SigningKey {
    try SigningKey(hexadecimalKey: key, hexadecimalSalt: salt)
  }

  /// Of imgproxy's documentation; too short for a key file.
  private func secretHello() -> SigningKey {
    SigningKey(key: Array("secret".utf8), salt: Array("hello".utf8))
  }

  private func exampleKey() throws -> SigningKey {
    try key(
      "943b421c9eb07c830af81030552c86009268de4e532ba2ee2eab8247c6da0881",
      "520f986b998545b4785e0defbc4f3c1203f22de2374a3d53cb7a7fe9fea309c5")
  }

  private func imgproxy(_ path: String, _ signatures: RequestSignatures) throws -> ImageQuery {
    try ImageQueries(signatures: signatures).imgproxy(
      RequestTarget(path), now: WallTime(rawValue: 0))
  }

  private func weserv(_ target: String, _ signatures: RequestSignatures) throws -> ImageQuery {
    try ImageQueries(signatures: signatures).weserv(RequestTarget(target))
  }

  @Test func `signatures are those of imgproxy`() throws {
    let signatures = RequestSignatures()
    #expect(
      signatures.signature(
        of: "/rs:fill:300:400:0/g:sm/aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png",
        by: secretHello()) == "oKfUtW34Dvo2BGQehJFR4Nr0_rIjOtdtzJ3QFsUcXH8")
    #expect(
      signatures.signature(
        of: "/rs:fit:300:300/plain/http://img.example.com/pretty/image.jpg", by: try exampleKey())
        == "m3k5QADfcKPDj-SDI2AIogZbC3FlAXszuwhtWXYqavc")
    #expect(
      signatures.signature(
        of: "asd", by: SigningKey(key: Array("test-key".utf8), salt: Array("test-salt".utf8)))
        == "dtLwhdnPPiu_epMl1LrzheLpvHas-4mwvY6L3Z8WwlY")
  }

  @Test func `a signed path is accepted`() throws {
    let path =
      "/oKfUtW34Dvo2BGQehJFR4Nr0_rIjOtdtzJ3QFsUcXH8"
      + "/rs:fill:300:400:0/g:sm/aHR0cDovL2V4YW1w/bGUuY29tL2ltYWdl/cy9jdXJpb3NpdHku/anBn.png"
    let query = try imgproxy(path, RequestSignatures(keys: [secretHello()]))
    #expect(query.request.url == "http://example.com/images/curiosity.jpg")
    var variant = ImageVariant(width: 300, height: 400, mode: .fill, crop: .attention, format: .png)
    variant.keptData.copyright = true
    #expect(query.request.variant == variant)
  }

  @Test(arguments: [
    "/rs:fit:3:2/plain/http:/h.example/a", "/rs%3Afit%3a3%3A2/plain/http%3A//h.example/a",
    "/rs%3Afit%3A3%3A2/plain/http%3A/h.example/a",
  ])
  func `a path that a proxy has changed has the signature of its client`(path: String) throws {
    let signatures = try RequestSignatures(keys: [exampleKey()])
    let signed = "/rs:fit:3:2/plain/http://h.example/a"
    let signature = signatures.signature(of: signed, by: try exampleKey())
    #expect(try imgproxy("/\(signature)\(path)", signatures).request.url == "http://h.example/a")
    let other = "/\(signature)\(path.dropLast())b"
    #expect(throws: RequestRejection.self) { try imgproxy(other, signatures) }
  }

  @Test func `any of several keys may have signed`() throws {
    let path = "/rs:fit:300:300/plain/http://img.example.com/pretty/image.jpg"
    let signatures = try RequestSignatures(keys: [secretHello(), exampleKey()])
    for key in signatures.keys {
      _ = try imgproxy("/\(signatures.signature(of: path, by: key))\(path)", signatures)
    }
  }

  @Test func `a signature may be short`() throws {
    let path = "/w:1/plain/http://h/a"
    let signatures = RequestSignatures(keys: [secretHello()], byteCount: 8)
    let signature = signatures.signature(of: path, by: secretHello())
    #expect(signature.utf8.count == 11)
    _ = try imgproxy("/\(signature)\(path)", signatures)
    let whole = RequestSignatures().signature(of: path, by: secretHello())
    #expect(whole.hasPrefix(signature.dropLast()))
    #expect(throws: RequestRejection.self) { try imgproxy("/\(whole)\(path)", signatures) }
  }

  @Test(arguments: [
    "insecure", "unsafe", "_", "m3k5QADfcKPDj-SDI2AIogZbC3FlAXszuwhtWXYqavd",
    "m3k5QADfcKPDj-SDI2AIogZbC3FlAXszuwhtWXYqavc=", "m3k5QADfcKPDj+SDI2AIogZbC3FlAXszuwhtWXYqavc",
    "m3k5QADfcKPDj-SDI2AIogZbC3FlAXszuwhtWXYqav", "m3k5QADfcKPDj-SDI2AIogZbC3FlAXszuwhtWXYqavc%20",
    "M3K5QADFCKPDJ-SDI2AIOGZBC3FLAXSZUWHTWXYQAVC",
  ])
  func `another signature is refused`(signature: String) throws {
    let path = "/\(signature)/rs:fit:300:300/plain/http://img.example.com/pretty/image.jpg"
    let signatures = try RequestSignatures(keys: [exampleKey()])
    let rejection = try #require(throws: RequestRejection.self) { try imgproxy(path, signatures) }
    #expect(rejection.status == .forbidden)
    #expect(rejection.code == "invalid_signature")
    _ = try imgproxy(path, RequestSignatures())
  }

  @Test(arguments: [
    "/rs:fit:300:301/plain/http://img.example.com/pretty/image.jpg",
    "/rs:fit:300:300/plain/http://img.example.com/pretty/image.jp%67",
    "//rs:fit:300:300/plain/http://img.example.com/pretty/image.jpg",
    "/rs:fit:300:300/plain/http://img.example.com/pretty/image.jpg@png",
  ])
  func `a changed path is refused`(path: String) throws {
    let signed = "/m3k5QADfcKPDj-SDI2AIogZbC3FlAXszuwhtWXYqavc\(path)"
    let signatures = try RequestSignatures(keys: [exampleKey()])
    let rejection = try #require(throws: RequestRejection.self) { try imgproxy(signed, signatures) }
    #expect(rejection.code == "invalid_signature")
  }

  @Test(arguments: [
    "/image?url=h.example%2Fa.jpg&w=300&s=SIGNATURE",
    "/image?s=SIGNATURE&url=h.example%2Fa.jpg&w=300",
    "/image?url=h.example%2Fa.jpg&s=SIGNATURE&w=300",
  ])
  func `the query form is signed without its signature`(written: String) throws {
    let signatures = try RequestSignatures(keys: [exampleKey()])
    let signature = signatures.signature(
      of: "/image?url=h.example%2Fa.jpg&w=300", by: signatures.keys[0])
    let target = written.replacing("SIGNATURE", with: signature)
    #expect(try weserv(target, signatures).request.url == "http://h.example/a.jpg")
    for changed in [
      written, target.replacing("w=300", with: "w=301"), target.replacing("%2Fa", with: "/a"),
      target + "&", target + "&s=\(signature)", target.replacing("/image", with: "/other"),
      target.replacing("s=", with: "%73="), target.replacing("&w=300", with: ""),
    ] {
      #expect(throws: RequestRejection.self) { try weserv(changed, signatures) }
    }
  }

  @Test(arguments: [
    ("/rs:fit:3:2/plain/https://h/a", "/rs:fit:3:2/plain/https://h/a"),
    ("/unsafe/rs:fit:3:2/plain/https://h/a@png", "/rs:fit:3:2/plain/https://h/a@png"),
    ("/OLD/rs%3Afit:3:2/plain/https://h/a", "/rs%3Afit:3:2/plain/https://h/a"),
    ("/OLD/plain/https://h/a%3Fb", "/plain/https://h/a%3Fb"),
    ("/plain/https://h/a", "/plain/https://h/a"),
    ("/plain/https:/h/a", "/plain/https:/h/a"), ("/OLD/aHR0cHM6Ly9oL2E", "/aHR0cHM6Ly9oL2E"),
    ("/OLD/aHR0cHM6/Ly9oL2E=.png", "/aHR0cHM6/Ly9oL2E=.png"),
    ("/_/aHR0cHM6Ly9oL2E", "/aHR0cHM6Ly9oL2E"), ("/aHR0cHM6/Ly9oL2E.png", "/aHR0cHM6/Ly9oL2E.png"),
  ])
  func `a path that was signed is accepted, whatever stood for its signature`(
    text: String, unsigned: String
  ) throws {
    let signatures = RequestSignatures(keys: [try exampleKey(), secretHello()], byteCount: 16)
    let signed = try SignedTarget(text, by: signatures)
    #expect(signed.text == "/\(signed.signature)\(unsigned)")
    #expect(try imgproxy(signed.text, signatures).request.url.hasPrefix("https://h/a"))
    #expect(throws: RequestRejection.self) { try imgproxy(signed.text + "x", signatures) }
  }

  @Test(arguments: [
    "/image?url=h.example%2Fa.jpg&w=300", "/image?s=old&url=h.example%2Fa.jpg&w=300",
    "/?w=300&url=h.example/a.jpg&s=", "/image?url=h.example%2Fa.jpg&",
  ])
  func `a query that was signed is accepted`(text: String) throws {
    let signatures = RequestSignatures(keys: [try exampleKey()])
    let signed = try SignedTarget(text, by: signatures)
    #expect(try weserv(signed.text, signatures).request.url == "http://h.example/a.jpg")
  }

  @Test(arguments: [
    ("", "slash"), ("rs:fit:3:2/plain/https://h/a", "slash"), ("/a b", "space"), ("/a#b", "%23"),
    ("/", "/image?url="), ("/image", "/image?url="), ("/image?w=3", "/image?url="),
    ("/id/3-0/300", "needs no signature"), ("/v2/list", "needs no signature"),
    ("/rs:fit:3:2/plain/https://h/a?b", "%3F"), ("/rs:fit:3:2", "/plain/"),
    ("/etc/passwd", "/plain/"), ("/aGVsbG8gd29ybGQ", "/plain/"), ("/plain/hello", "/plain/https"),
    ("/plain/https://user@h/a@png", "/plain/https"), ("/plain/file:///a.jpg", "/plain/https"),
    ("//plain/https://h/a", "needs no signature"),
  ])
  func `a target that the gateway would refuse is not signed`(
    text: String, remedy: String
  ) throws {
    let signatures = RequestSignatures(keys: [try exampleKey()])
    let error = try #require(throws: InvalidValue.self) { try SignedTarget(text, by: signatures) }
    #expect(error.reason.contains(remedy), "\(error)")
  }

  @Test func `the address of a picture is read as it was written`() throws {
    let url = "https://h.example/a%20b.jpg?x=1&y=%C3%BC@2"
    let signatures = RequestSignatures(keys: [try exampleKey()])
    let path = "/rs:fit:3:2\(SignedTarget.plainAddress(url))@webp"
    let signed = try SignedTarget(path, by: signatures)
    #expect(try imgproxy(signed.text, signatures).request.url == url)
  }

  @Test func `a signature that is not required is not checked`() throws {
    _ = try weserv("/image?url=h.example&s=x", RequestSignatures())
    #expect(!RequestSignatures().areRequired)
  }

  @Test(arguments: [
    ("", ""), ("0", ""), ("zz", ""), ("+1", ""), (" 1", ""), ("00", "0"), ("00", "xy"), ("ü", ""),
  ])
  func `a key is hexadecimal digits`(key: String, salt: String) {
    #expect(throws: (any Error).self) {
      try SigningKey(hexadecimalKey: key, hexadecimalSalt: salt)
    }
  }

  @Test func `a key may have no salt`() throws {
    #expect(
      try key("00fF000000000000", "")
        == SigningKey(key: [0, 255, 0, 0, 0, 0, 0, 0], salt: []))
  }

  @Test(arguments: [1, 7]) func `a key that can be guessed is refused`(byteCount: Int) throws {
    let text = String(repeating: "ab", count: byteCount)
    let error = #expect(throws: InvalidValue.self) { try key(text, "00") }
    #expect("\(try #require(error))".contains("has a key of \(byteCount) byte"))
    #expect(!"\(try #require(error))".contains("abab"))
  }
}

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

/// What a list of origins does to requests.
struct PermittedOriginsTests {
  private let list: OriginList

  init() throws {
    list = try OriginList(parsing: ["good.example", "data:"])
  }

  @Test func `the address and the default of a request must be permitted`() throws {
    let queries = ImageQueries(origins: list)
    for query in ["url=good.example/a&default=good.example/b", "url=data:,a"] {
      _ = try queries.weserv(RequestTarget("/?" + query))
    }
    for query in ["url=evil.example", "url=good.example&default=evil.example", "url=file:///a"] {
      let rejection = try #require(throws: RequestRejection.self) {
        try queries.weserv(RequestTarget("/?" + query))
      }
      #expect(rejection.status == .forbidden)
    }
    #expect(throws: RequestRejection.self) {
      try queries.imgproxy(
        RequestTarget("/_/plain/https://good.example%2540evil.example/"), now: WallTime(rawValue: 0)
      )
    }
  }

  @Test func `redirects of a request stay on the list`() throws {
    let queries = ImageQueries(origins: list)
    let weserv = try queries.weserv(RequestTarget("/?url=good.example/a"))
    let imgproxy = try queries.imgproxy(
      RequestTarget("/_/plain/https://good.example/a"), now: WallTime(rawValue: 0))
    #expect([weserv, imgproxy].map(\.request.redirectOrigins) == [list, list])
    let free = try ImageQueries().weserv(RequestTarget("/?url=good.example/a"))
    #expect(free.request.redirectOrigins == .all)
  }

  @Test func `redirects of a listed URL stay on the list if the URL is there`() {
    #expect(list.redirectOrigins(ofListed: "https://good.example/a") == list)
    #expect(list.redirectOrigins(ofListed: "https://other.example/a") == .all)
    #expect(list.redirectOrigins(ofListed: "no URL") == .all)
  }

  @Test func `an entry that is no origin is named`() throws {
    let error = try #require(throws: InvalidValue.self) {
      try OriginList(parsing: ["good.example", "a b"])
    }
    #expect(error.reason.hasPrefix(#""a b" is not an origin; write https://example.org,"#))
  }

  @Test func `too many origins are refused`() {
    #expect(throws: InvalidValue.self) {
      try OriginList(parsing: (0...OriginList.maximumCount).map { "host\($0).example" })
    }
  }
}
