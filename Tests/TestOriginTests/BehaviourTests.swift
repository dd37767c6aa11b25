import Testing

@testable import TestOrigin

struct BehaviourTests {
  private let resource = Behaviour.resource(
    Resource(
      Array("0123456789".utf8), entityTag: "\"v1\"",
      lastModified: "Mon, 02 Mar 2026 10:00:00 GMT"))

  @Test(arguments: [
    ("bytes=2-4", "234", "bytes 2-4/10"),
    ("bytes=7-", "789", "bytes 7-9/10"),
    ("bytes=-3", "789", "bytes 7-9/10"),
    ("bytes=5-99", "56789", "bytes 5-9/10"),
    ("bytes=-99", "0123456789", "bytes 0-9/10"),
  ])
  func `a range is answered with its part`(range: String, part: String, position: String) {
    let response = answer(["range": range])
    #expect(response.status == 206)
    #expect(response.body == Array(part.utf8))
    #expect(response.headers.contains(Header("Content-Range", position)))
  }

  @Test(arguments: ["bytes=10-", "bytes=12-14", "bytes=-0"])
  func `a range outside the body cannot be satisfied`(range: String) {
    let response = answer(["range": range])
    #expect(response.status == 416)
    #expect(response.headers == [Header("Content-Range", "bytes */10")])
  }

  @Test(arguments: ["bytes=4-2", "bytes=0-1,4-5", "lines=0-1", "bytes=-", "bytes=a-b", "bytes=5"])
  func `a range that cannot be read is ignored`(range: String) {
    #expect(answer(["range": range]).status == 200)
  }

  @Test(arguments: [
    ("\"v1\"", 206), ("\"v2\"", 200), ("W/\"v1\"", 200), ("Mon, 02 Mar 2026 10:00:00 GMT", 206),
    ("Mon, 02 Mar 2026 10:00:01 GMT", 200),
  ])
  func `If-Range decides between the part and the whole`(validator: String, status: Int) {
    #expect(answer(["range": "bytes=2-4", "if-range": validator]).status == status)
  }

  @Test(arguments: [
    (["if-none-match": "\"v1\""], 304),
    (["if-none-match": "\"v0\", W/\"v1\""], 304),
    (["if-none-match": "*"], 304),
    (["if-none-match": "\"v0\""], 200),
    (["if-modified-since": "Mon, 02 Mar 2026 10:00:00 GMT"], 304),
    (["if-modified-since": "Sun, 01 Mar 2026 10:00:00 GMT"], 200),
    (["if-none-match": "\"v0\"", "if-modified-since": "Mon, 02 Mar 2026 10:00:00 GMT"], 200),
  ])
  func `a validator that holds is answered without a body`(headers: [String: String], status: Int) {
    let response = answer(headers)
    #expect(response.status == status)
    #expect(response.body.isEmpty == (status == 304))
    #expect(response.headers.contains(Header("ETag", "\"v1\"")))
  }

  private func request(_ headers: [String: String] = [:]) -> Request {
    Request(method: "GET", path: "/a", query: nil, headers: headers)
  }

  private func answer(_ headers: [String: String]) -> Response {
    resource.response(to: request(headers), ordinal: 0)
  }
}
