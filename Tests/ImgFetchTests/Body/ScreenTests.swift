import ImgFetch
import ImgModel
import TestOrigin
import Testing

/// Bodies that are given up because of their first bytes.
@Suite(.timeLimit(.minutes(20))) struct ScreenTests {
  @Test(arguments: [1, 100, 5_000])
  func `a body whose first bytes are refused is given up when they are in`(count: Int) throws {
    let origin = try TestOrigin()
    // The rest is never sent, so whoever waits for it does not come to an end.
    origin.serve("/a", .body(noise(100_000), delivery: .stall(after: count)))
    let transfer = try fetcher(byteCount: count, refusing: noise(count)).fetch(
      origin.baseURL + "/a")
    #expect(transfer.failure == Self.refusal)
    #expect(transfer.bytesReceived == count)
    #expect(origin.counters("/a").bytesSent == count)
  }

  @Test func `of a body without end that is refused one buffer is read`() throws {
    let origin = try TestOrigin()
    origin.serve("/a", .body([], delivery: .endless))
    let transfer = try fetcher(byteCount: 1_000) { _ in true }.fetch(origin.baseURL + "/a")
    #expect(transfer.failure == Self.refusal)
    #expect(transfer.bytesReceived <= 16 << 10)
    #expect(origin.waitUntil { $0["/a"].aborted == 1 })
  }

  @Test(arguments: [Delivery.whole, .chunked])
  func `a body whose first bytes are not refused comes in whole`(delivery: Delivery) throws {
    let origin = try TestOrigin()
    origin.serve("/a", .body(noise(100_000), delivery: delivery))
    var judgements = 0
    let transfer = try fetcher(byteCount: 1_000) { head in
      judgements += 1
      return head != noise(1_000)
    }.fetch(origin.baseURL + "/a")
    #expect(transfer.body?.bytes == noise(100_000))
    #expect(judgements == 1)
  }

  @Test func `a body shorter than what is judged comes in whole`() throws {
    let origin = try TestOrigin()
    origin.serve("/a", .body(noise(999)))
    let transfer = try fetcher(byteCount: 1_000) { _ in true }.fetch(origin.baseURL + "/a")
    #expect(transfer.body?.bytes == noise(999))
  }

  @Test(arguments: [300, 404, 503])
  func `the page of an answer without success is not judged`(status: Int) throws {
    let origin = try TestOrigin()
    origin.serve("/a", .response(Response(status: status, body: noise(5_000))))
    let transfer = try fetcher(byteCount: 1_000) { _ in true }.fetch(origin.baseURL + "/a")
    #expect(transfer.failure?.httpStatus == status)
  }

  @Test func `what is no picture because it is compressed says so`() throws {
    let origin = try TestOrigin()
    origin.serve("/a", .body(noise(5_000), headers: [Header("Content-Encoding", "br")]))
    let transfer = try fetcher(byteCount: 1_000) { _ in true }.fetch(origin.baseURL + "/a")
    #expect(transfer.failure?.code == .notAnImage)
    #expect(transfer.failure?.detail == "refused; Content-Encoding: br was not asked for")
  }

  private static let refusal = Failure(stage: .decode, code: .notAnImage, detail: "refused")

  private func fetcher(byteCount: Int, refusing head: [UInt8]) throws -> Fetcher {
    try fetcher(byteCount: byteCount) { $0 == head }
  }

  private func fetcher(
    byteCount: Int, refusing isRefused: @escaping ([UInt8]) -> Bool
  ) throws -> Fetcher {
    let screen = BodyScreen(byteCount: byteCount) { isRefused($0) ? Self.refusal : nil }
    return try Fetcher(screen: screen)
  }
}
