import ImgModel
import ImgWire
import Testing

@testable import ImgClient

struct SubmissionBatchesTests {
  private func batches(of urls: [String]) -> [[String]] {
    var batches = SubmissionBatches(urls.makeIterator())
    var all: [[String]] = []
    while let next = batches.next() { all.append(next) }
    return all
  }

  @Test func `a list is cut into batches of a thousand URLs`() {
    let urls = (0..<2_500).map(String.init)
    #expect(batches(of: urls).map(\.count) == [1_000, 1_000, 500])
    #expect(batches(of: urls).flatMap { $0 } == urls)
    #expect(batches(of: []).isEmpty)
  }

  @Test func `long URLs make smaller batches`() {
    let urls = (0..<100).map { "\($0)" + String(repeating: "a", count: 5_000) }
    let parts = batches(of: urls)
    #expect(parts.flatMap { $0 } == urls)
    #expect(parts.count > 1)
    for part in parts {
      #expect(part.reduce(0) { $0 + $1.utf8.count } <= SubmissionLines.maximumByteCount)
    }
  }

  @Test func `a text that is longer than any URL is cut where that shows`() {
    let long = String(repeating: "a", count: 1 << 20)
    let parts = batches(of: [long, "b"])
    #expect(parts.flatMap { $0 }.map(\.utf8.count) == [ImageURL.maximumByteCount + 1, 1])
  }
}
