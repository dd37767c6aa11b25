import ImgModel
import TestOrigin
import Testing

@Suite(.timeLimit(.minutes(20))) struct ConnectionTests {
  @Test func `more transfers at once than the limit at the start reuse their connections`() throws {
    let origin = try TestOrigin { _, _ in .body(noise(100)) }
    let fetcher = try Fetcher { $0.transfers = 1 }
    for _ in 1...3 {
      let ends = try fetcher.fetch((1...8).map { "\(origin.baseURL)/\($0)" })
      #expect(ends.filter { $0.body != nil }.count == 8)
    }
    #expect(origin.totals().connectionsOpened == 8)
  }
}
