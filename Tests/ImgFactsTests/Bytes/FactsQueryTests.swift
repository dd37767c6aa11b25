import Testing

@testable import ImgFacts

@Suite struct FactsQueryTests {
  @Test func `ranges grow fourfold from 4 KiB`() {
    // Segments of 60 KB, each of which a range must reach.
    let segments = [[UInt8]](
      repeating: JPEGMaker.segment(0xE5, zeros(60_000)), count: 40)
    let file = JPEGMaker.file(segments.flatMap { $0 }, JPEGMaker.frame())
    let fetch = Fetch(file, .header)
    #expect(fetch.facts?.width == 64)
    #expect(fetch.ranges.prefix(4).map(\.count) == [4_096, 16_384, 65_536, 262_144])
    #expect(fetch.ranges.count <= 6)
  }

  @Test func `no range goes behind the end of a file of known length`() {
    let fetch = Fetch(Samples.jpeg, .all)
    #expect(fetch.ranges == [0..<Samples.jpeg.count])
    #expect(Fetch([], .all).result == .failed(.truncated))
  }

  @Test func `a file that ends early has the facts of a smaller extent`() {
    // It ends within the segment of its XMP packet, behind the frame.
    let file = JPEGMaker.file(JPEGMaker.frame(), JPEGMaker.xmp(Samples.xmp))
    let fetch = Fetch(Array(file.prefix(100)), .all)
    guard case .facts(let facts, .header) = fetch.result else {
      Issue.record("\(fetch.result)")
      return
    }
    #expect(facts.width == 64)
  }

  @Test func `a query ends even if nothing arrives`() {
    var query = FactsQuery(.all)
    var count = 0
    while case .fetch = query.next() { count += 1 }
    #expect(count == FactsQuery.maximumRangeCount)
  }

  @Test func `no more bytes are asked for than allowed`() {
    let file = JPEGMaker.file(
      [[UInt8]](repeating: JPEGMaker.segment(0xE5, zeros(60_000)), count: 100).flatMap { $0 })
    var query = FactsQuery(.header, byteCount: file.count, maximumByteCount: 20_000)
    while case .fetch(let range) = query.next() {
      query.insert(Array(file[range]), at: range.lowerBound)
    }
    #expect(query.bytes.heldByteCount == 20_480)
  }
}
