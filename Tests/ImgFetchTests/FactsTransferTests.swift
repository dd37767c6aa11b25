import ImgFacts
import ImgModel
import TestOrigin
import Testing

@testable import ImgFetch

/// Facts of pictures, read by ranges over a real connection.
@Suite(.timeLimit(.minutes(20))) struct FactsTransferTests {
  private let origin = TestOrigin()
  private let fetcher: Fetcher
  private let url: String

  private static let tag = "\"v1\""

  init() throws {
    fetcher = try Fetcher()
    url = origin.baseURL + "/a"
  }

  /// A JPEG whose frame header stands behind application segments.
  private static func jpeg(width: UInt8 = 64, segments: Int = 0, scan: Int = 2_500_000) -> [UInt8] {
    let segment: [UInt8] = [0xFF, 0xE5, 0xEA, 0x60] + noise(59_998)
    let frame: [UInt8] = [0xFF, 0xC0, 0, 11, 8, 0, 48, 0, width, 1, 1, 0x11, 0]
    return [0xFF, 0xD8] + (0..<segments).flatMap { _ in segment } + frame
      + [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0] + noise(scan).map { $0 & 0x7F } + [0xFF, 0xD9]
  }

  private func resource(_ body: [UInt8], tag: String? = tag, ranges: Bool = true) -> Behaviour {
    .resource(Resource(body, entityTag: tag, acceptsRanges: ranges))
  }

  private func part(_ range: String, _ bytes: [UInt8], tag: String = tag) -> Behaviour {
    .response(
      Response(
        status: 206,
        headers: [Header("Content-Range", "bytes \(range)"), Header("ETag", tag)], body: bytes))
  }

  private func facts(_ extent: FactsExtent = .metadata) throws -> FinishedTransfer {
    let transfer = try fetcher.fetchFacts(url, extent)
    fetcher.releaseBody(transfer)
    #expect(fetcher.pool.heldBodyByteCount == 0)
    return transfer
  }

  // MARK: - Ranges

  @Test func `the facts of a large picture cost one short range`() throws {
    let picture = Self.jpeg()
    origin.serve("/a", resource(picture))
    let transfer = try facts()
    let record = try #require(transfer.body?.facts)
    #expect(record.facts.width == 64 && record.facts.height == 48 && record.status == .complete)
    #expect(record.byteCount == picture.count && record.declaredType == "image/jpeg")
    #expect(transfer.bytesReceived == 4_096 && transfer.freshByteCount == 4_096)
    #expect(origin.counters("/a").ranges == ["bytes=0-4095"])
    #expect(origin.counters("/a").bytesSent == 4_096)
    #expect(transfer.body?.bytes.isEmpty == true)
  }

  @Test func `further ranges are of the same file and on the same connection`() throws {
    origin.serve("/a", resource(Self.jpeg(segments: 3)))
    let transfer = try facts()
    #expect(transfer.body?.facts?.facts.width == 64)
    let counters = origin.counters("/a")
    // Most of the segments is passed over.
    #expect(counters.requests == 3 && counters.ranges.count == 3)
    #expect(counters.headersSeen["if-range"] == Self.tag)
    #expect(origin.totals().connectionsOpened == 1)
    #expect(transfer.bytesReceived == counters.bytesSent && counters.bytesSent <= 90_000)
    #expect(fetcher.pool.takeExtraRequests().count == 2)
  }

  @Test func `a range behind the end says where the file ends`() throws {
    let start = Array(Self.jpeg(segments: 1).prefix(4_096))
    origin.serve("/a", .sequence([part("0-4095/*", start), .status(416)]))
    let transfer = try facts()
    #expect(transfer.failure?.code == .corruptImage && transfer.failure?.stage == .decode)
    #expect(origin.counters("/a").requests == 2)
  }

  @Test func `a file that ends within its metadata has the facts before it, and says so`() throws {
    let whole = Self.jpeg(scan: 0)
    // EXIF behind the frame that declares more than there is.
    let cut = Array(whole.dropLast(12)) + [0xFF, 0xE1, 0x40, 0] + Array("Exif\0\0".utf8)
    origin.serve("/a", resource(cut))
    let record = try #require(facts().body?.facts)
    #expect(record.status == .truncated && record.facts.width == 64)
    #expect(record.byteCount == cut.count)
  }

  @Test func `a redirect is followed once, and the ranges go to where it leads`() throws {
    origin.serve("/a", .redirect(to: "/b"))
    origin.serve("/b", resource(Self.jpeg(segments: 2)))
    let transfer = try facts()
    #expect(transfer.body?.facts?.facts.width == 64 && transfer.wasRedirected)
    #expect(origin.counters("/a").requests == 1 && origin.counters("/b").requests == 3)
  }

  // MARK: - Origins without ranges

  @Test func `an origin without ranges is read only as far as necessary`() throws {
    let picture = Self.jpeg()
    origin.serve("/a", resource(picture, ranges: false))
    let transfer = try facts()
    let record = try #require(transfer.body?.facts)
    #expect(record.facts.width == 64 && record.byteCount == picture.count)
    #expect(transfer.bytesReceived <= 64 << 10)
    #expect(origin.counters("/a").requests == 1)
  }

  @Test(arguments: [BodyDelivery.whole, .chunked])
  func `what lies between the parts is passed over`(delivery: BodyDelivery) throws {
    origin.serve("/a", .body(Self.jpeg(segments: 3, scan: 20), delivery: delivery))
    let record = try #require(facts().body?.facts)
    #expect(record.facts.width == 64 && record.status == .complete)
    #expect(origin.counters("/a").requests == 1)
  }

  @Test(arguments: [416, 206])
  func `an origin that cannot send the first range is asked for the whole`(status: Int) throws {
    let refusal =
      status == 206 ? part("1-5/9", [1, 2, 3, 4, 5]) : .status(416)
    origin.serve("/a", .sequence([refusal, resource(Self.jpeg(), ranges: false)]))
    #expect(try facts().body?.facts?.facts.width == 64)
    #expect(origin.counters("/a").requests == 2 && origin.counters("/a").ranges.count == 1)
  }

  // MARK: - Changes

  @Test func `a file that has changed is read from its new beginning`() throws {
    let (old, new) = (Self.jpeg(segments: 3), Self.jpeg(width: 32, segments: 3, scan: 9))
    origin.serve("/a", .sequence([resource(old), resource(new, tag: "\"v2\"")]))
    let record = try #require(facts().body?.facts)
    #expect(record.facts.width == 32 && record.byteCount == new.count)
    #expect(origin.counters("/a").requests == 2)
  }

  @Test func `a part of another file is not used`() throws {
    let (old, new) = (Self.jpeg(segments: 1), Self.jpeg(width: 32))
    let range = "60004-76387/\(old.count)"
    origin.serve(
      "/a",
      .sequence([
        resource(old), part(range, noise(16_384), tag: "\"v2\""), resource(new, tag: "\"v2\""),
      ]))
    #expect(try facts().body?.facts?.facts.width == 32)
    #expect(origin.counters("/a").ranges == ["bytes=0-4095", "bytes=60004-76387", "bytes=0-4095"])
  }

  @Test func `a file that keeps changing fails`() throws {
    let parts = (1...6).map { resource(Self.jpeg(segments: 3, scan: $0), tag: nil) }
    origin.serve("/a", .sequence(parts))
    let failure = try #require(facts().failure)
    #expect(failure.code == .invalidResponse && failure.isRetryable)
    #expect(origin.counters("/a").requests == 4)
  }

  // MARK: - Failures

  @Test func `what is no picture fails after the first range`() throws {
    origin.serve("/a", resource([UInt8](repeating: 0x41, count: 100_000)))
    let transfer = try facts()
    #expect(transfer.failure?.code == .notAnImage && transfer.bytesReceived == 4_096)
    origin.serve("/a", .empty)
    #expect(try facts().failure?.code == .notAnImage)
    origin.serve("/a", resource(Array("%PDF-1.7 and so on, and so on".utf8)))
    #expect(try facts().failure?.code == .unsupportedFormat)
  }

  @Test func `a transfer that breaks off can be tried again, and leaves nothing`() throws {
    origin.serve(
      "/a", .resource(Resource(Self.jpeg(), entityTag: Self.tag, delivery: .cut(after: 100))))
    let transfer = try facts()
    #expect(transfer.failure?.code == .truncatedBody && transfer.failure?.isRetryable == true)
    #expect(transfer.partialBody == nil)
    origin.serve("/a", .status(404))
    #expect(try facts().failure?.httpStatus == 404)
  }

  @Test func `facts in the store are confirmed by one short answer`() throws {
    origin.serve("/a", resource(Self.jpeg()))
    let terms = ReuseTerms(
      freshUntil: .distantPast, staleWhileRevalidateUntil: .distantPast,
      staleIfErrorUntil: .distantPast, fields: "etag: \(Self.tag)")
    let transfer = try fetcher.fetchFacts(url, .metadata, unlessMatching: Validators(terms))
    #expect(transfer.notModified != nil && transfer.bytesReceived == 0)
  }

  @Test func `an answer that forbids its use is not read`() throws {
    origin.serve("/a", .resource(Resource(Self.jpeg(), headers: [Header("X-Robots-Tag", "noai")])))
    let options = FetchOptions(respectsOptOut: true)
    #expect(try fetcher.fetchFacts(url, .metadata, as: options).failure?.code == .optedOut)
  }
}

extension Fetcher {
  func fetchFacts(
    _ url: String, _ extent: FactsExtent, as options: FetchOptions = .standard,
    unlessMatching validators: Validators? = nil
  ) throws -> FinishedTransfer {
    let id = try start(url) { id, url in
      pool.start(
        id, url: url, part: extent == .all ? .allFacts : .facts, as: options,
        unlessMatching: validators)
    }
    return try end(of: id)
  }
}
