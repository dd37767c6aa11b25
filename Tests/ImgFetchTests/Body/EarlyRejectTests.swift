import ImgFetch
import ImgModel
import TestOrigin
import Testing

/// Bodies that are rejected by their first bytes.
@Suite(.timeLimit(.minutes(20))) struct EarlyRejectTests {
  @Test(arguments: [1, 100, 5_000])
  func `a transfer ends when the first bytes of its body are rejected`(count: Int) throws {
    let origin = try TestOrigin()
    // The rest is never sent, so a transfer that waits for it does not end.
    origin.serve("/a", .body(noise(100_000), delivery: .stall(after: count)))
    let transfer = try fetcher(byteCount: count, rejecting: noise(count)).fetch(
      origin.baseURL + "/a")
    #expect(transfer.failure == Self.rejection)
    #expect(transfer.bytesReceived == count)
    #expect(origin.counters("/a").bytesSent == count)
  }

  @Test func `one buffer is read of a rejected body without end`() throws {
    let origin = try TestOrigin()
    origin.serve("/a", .body([], delivery: .endless))
    let transfer = try fetcher(byteCount: 1_000) { _ in true }.fetch(origin.baseURL + "/a")
    #expect(transfer.failure == Self.rejection)
    #expect(transfer.bytesReceived <= 16 << 10)
    #expect(origin.waitUntil { $0["/a"].aborted == 1 })
  }

  @Test(arguments: [Delivery.whole, .chunked])
  func `a body whose first bytes are accepted comes in whole`(delivery: Delivery) throws {
    let origin = try TestOrigin()
    origin.serve("/a", .body(noise(100_000), delivery: delivery))
    var examinationCount = 0
    let transfer = try fetcher(byteCount: 1_000) { head in
      examinationCount += 1
      return head != noise(1_000)
    }.fetch(origin.baseURL + "/a")
    #expect(transfer.body?.bytes == noise(100_000))
    #expect(examinationCount == 1)
  }

  @Test func `a body shorter than the examined bytes comes in whole`() throws {
    let origin = try TestOrigin()
    origin.serve("/a", .body(noise(999)))
    let transfer = try fetcher(byteCount: 1_000) { _ in true }.fetch(origin.baseURL + "/a")
    #expect(transfer.body?.bytes == noise(999))
  }

  @Test(arguments: [300, 404, 503])
  func `the page of an error is not examined`(status: Int) throws {
    let origin = try TestOrigin()
    origin.serve("/a", .response(Response(status: status, body: noise(5_000))))
    let transfer = try fetcher(byteCount: 1_000) { _ in true }.fetch(origin.baseURL + "/a")
    #expect(transfer.failure?.httpStatus == status)
  }

  private static let rejection = Failure(stage: .decode, code: .notAnImage, detail: "refused")

  private func fetcher(byteCount: Int, rejecting head: [UInt8]) throws -> Fetcher {
    try fetcher(byteCount: byteCount) { $0 == head }
  }

  private func fetcher(
    byteCount: Int, rejecting isRejected: @escaping ([UInt8]) -> Bool
  ) throws -> Fetcher {
    let reject = EarlyReject(byteCount: byteCount) { isRejected($0) ? Self.rejection : nil }
    return try Fetcher(earlyReject: reject)
  }
}
