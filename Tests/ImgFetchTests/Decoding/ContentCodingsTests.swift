import Testing

@testable import ImgFetch

/// What `Content-Encoding` says.
struct ContentCodingsTests {
  private static let known: [(lines: [String], codings: [ContentCoding])] = [
    ([], []), (["Content-Encoding:"], []), (["Content-Encoding: identity"], []),
    (["Content-Encoding: none, Identity"], []), (["Content-Encoding: aws-chunked"], []),
    (["Content-Encoding: GZIP"], [.gzip]), (["content-encoding: x-gzip"], [.gzip]),
    (["Content-Encoding: aws-chunked,gzip"], [.gzip]),
    (["Content-Encoding: zstd", "Content-Encoding: br, deflate"], [.zstd, .brotli, .deflate]),
  ]

  @Test(arguments: known)
  func `codings are read in the order in which they were applied`(
    lines: [String], codings: [ContentCoding]
  ) {
    let read = responseHead(lines).codings
    #expect(read.applied == codings && read.problem == nil)
  }

  @Test(arguments: ["compress", "gzip, bogus", "br;q=1", "\"gzip\""])
  func `another coding is named`(value: String) throws {
    let problem = try #require(responseHead(["Content-Encoding: \(value)"]).codings.problem)
    let name = value.split(separator: " ").last.map(String.init) ?? ""
    #expect(
      problem == "Content-Encoding: \(name) is not known; gzip, deflate, br, zstd are decoded")
  }

  @Test func `more than three codings are refused`() {
    let head = responseHead(["Content-Encoding: gzip, gzip, gzip, gzip"])
    #expect(head.codings.problem == "Content-Encoding names 4 codings; 3 are decoded")
  }

  @Test func `the length of an encoded body is not that of the body`() {
    let lines = ["Content-Length: 10"]
    #expect(responseHead(lines).decodedLength == 10)
    let encoded = responseHead(lines + ["Content-Encoding: br"])
    #expect(encoded.decodedLength == nil && encoded.contentLength == 10)
  }
}
