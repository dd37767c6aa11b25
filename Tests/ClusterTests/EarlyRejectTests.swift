import ImgModel
import TestCluster
import TestOrigin
import Testing

/// Bodies that are fetched no further than to where it shows that they are no pictures.
@Suite(.timeLimit(.minutes(20)))
struct EarlyRejectTests {
  private let origin: TestOrigin

  init() throws {
    origin = try TestOrigin()
  }

  @Test(arguments: [
    ("\0\0\0\u{18}ftypisom\0\0\u{2}\0isomiso2avc1mp41", Failure.Code.notAnImage),
    ("<!DOCTYPE html><html><body>", .notAnImage), ("PK\u{3}\u{4}", .notAnImage),
    ("%PDF-1.7\n", .unsupportedFormat),
  ])
  func `a large body that is not an image is aborted after its first bytes`(
    start: String, code: Failure.Code
  ) throws {
    let bytes = Array(start.utf8) + Array(repeating: 0x20, count: 1_000_000)
    // The rest is never sent, so a client that waits for it would hang.
    origin.serve("/a", .body(bytes, delivery: .stall(after: 1_000)))
    let cluster = try Cluster()
    let status = try cluster.run([origin.baseURL + "/a"])
    #expect(try cluster.failures(of: status.job) == [origin.baseURL + "/a": code.rawValue])
    #expect(origin.counters("/a").requests == 1)
    #expect(origin.counters("/a").bytesSent == 1_000)
  }

  @Test func `an SVG with a late root element is fetched completely`() throws {
    let comment = String(repeating: "drawn by hand\n", count: 60)
    let prologue = "\u{FEFF}<?xml version='1.0'?>\n \t\r\n<!-- \(comment) -->\n"
    let drawing =
      "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='30'>"
      + String(repeating: "<rect width='9' height='9'/>", count: 100) + "</svg>"
    origin.serve("/a", .body(Array((prologue + drawing).utf8), delivery: .chunked))
    let cluster = try Cluster()
    #expect(try cluster.run([origin.baseURL + "/a"]).done == 1)
  }
}
