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

  @Test(arguments: [["Exif", "mime"], ["mime", "Exif"]])
  func `bytes that are at hand are not asked for again`(order: [String]) {
    // In one of the two orders the second item that is read lies before the first one.
    let metadata = [
      "Exif": ISOMaker.Item(id: 2, type: "Exif", data: big(0, 4) + Samples.exif),
      "mime": ISOMaker.Item(
        id: 3, type: "mime", data: ascii(Samples.xmp), mediaType: "application/rdf+xml"),
    ]
    let file = ISOMaker.file(
      items: [.init(id: 1, type: "av01", properties: [1, 2], data: zeros(10))]
        + order.compactMap { metadata[$0] },
      properties: [ISOMaker.size(64, 48), ISOMaker.av1()],
      references: [
        ISOMaker.reference("cdsc", from: 2, to: 1), ISOMaker.reference("cdsc", from: 3, to: 1),
      ], padding: 8_000)
    let fetch = Fetch(file, .metadata)
    #expect(fetch.facts?.exif != nil && fetch.facts?.xmp != nil)
    for (index, range) in fetch.ranges.enumerated() {
      let isRepeated = fetch.ranges[..<index].contains { $0.overlaps(range) }
      #expect(!isRepeated, "\(fetch.ranges)")
    }
  }

  @Test func `a file that is at hand as a whole is read to its end`() {
    let small = Fetch(Samples.gif, .metadata)
    #expect(small.facts?.frameCount == 3 && small.ranges.count == 1)
    // A defect behind the metadata does not matter to it.
    let cut = Fetch(Array(Samples.gif.dropLast()), .metadata)
    #expect(cut.facts?.frameCount == nil && cut.facts?.loopCount == 6)
    #expect(Fetch(Samples.gif, .header).facts?.frameCount == nil)
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
