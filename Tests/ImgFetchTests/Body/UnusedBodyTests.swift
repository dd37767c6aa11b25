import ImgModel
import TestOrigin
import Testing

@testable import ImgFetch

/// Bodies that are not used: those of errors and of redirects.
@Suite(.timeLimit(.minutes(20))) struct UnusedBodyTests {
  private let origin: TestOrigin

  init() throws {
    origin = try TestOrigin()
    origin.serve("/picture", .body([9]))
  }

  private func page(_ status: Int, _ byteCount: Int, _ delivery: Delivery = .whole) -> Behaviour {
    .response(
      Response(
        status: status, headers: [Header("Location", "/picture")], body: noise(byteCount),
        delivery: delivery))
  }

  /// All limits of time are far away.
  private func patientFetcher() throws -> Fetcher {
    try Fetcher {
      $0.transferTimeout = .seconds(3_600)
      $0.stallTimeout = .seconds(3_600)
    }
  }

  @Test(.ownThread, arguments: [404, 503])
  func `a page that comes slowly is cut off`(status: Int) throws {
    origin.serve("/a", page(status, 1_000, .stall(after: 1)))
    let fetcher = try patientFetcher()
    let id = try fetcher.start(origin.baseURL + "/a")
    try fetcher.run { fetcher.finished[id] != nil }
    #expect(fetcher.finished[id]?.failure?.httpStatus == status)
    #expect(fetcher.pool.activeCount == 0)
    #expect(fetcher.pool.deadline == nil)
  }

  @Test(.ownThread) func `a redirect is followed before its page is in`() throws {
    origin.serve("/a", page(302, 1_000, .stall(after: 1)))
    let fetcher = try patientFetcher()
    let id = try fetcher.start(origin.baseURL + "/a")
    try fetcher.run { fetcher.finished[id] != nil }
    #expect(fetcher.finished[id]?.body?.bytes == [9])
  }

  @Test(arguments: [404, 302])
  func `short pages cost no connection`(status: Int) throws {
    origin.serve("/a", page(status, 10_000))
    let fetcher = try Fetcher()
    for _ in 0..<5 { _ = try fetcher.fetch(origin.baseURL + "/a") }
    #expect(origin.totals().connectionsOpened == 1)
  }

  @Test func `a long page is not read`() throws {
    origin.serve("/a", page(404, 1 << 20))
    let transfer = try Fetcher().fetch(origin.baseURL + "/a")
    #expect(transfer.failure?.httpStatus == 404)
    #expect(transfer.bytesReceived == 0)
  }
}
