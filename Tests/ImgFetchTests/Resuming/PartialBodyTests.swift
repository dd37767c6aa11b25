import ImgFetch
import ImgModel
import TestOrigin
import Testing

/// What a transfer that breaks off leaves.
@Suite(.timeLimit(.minutes(20))) struct PartialBodyTests: ResumableDownload {
  let origin: TestOrigin
  let picture = noise(length)

  init() throws {
    origin = try TestOrigin()
  }

  @Test(
    .ownThread,
    arguments: [
      Delivery.cut(after: cut), .cut(after: cut, declaresLength: false), .reset(after: cut),
      .stall(after: cut),
    ])
  func `a transfer that breaks off leaves a partial body`(delivery: Delivery) throws {
    origin.serve("/a", resource(delivery))
    let fetcher = try Fetcher { $0.stallTimeout = .seconds(1) }
    let transfer = try fetcher.fetch(url)
    let partial = try #require(transfer.partialBody)
    let bytes = try partial.content.bytes()
    // A reset discards what the kernel has not delivered.
    #expect(bytes.count == Self.cut || delivery == .reset(after: Self.cut))
    #expect(bytes == Array(picture.prefix(bytes.count)))
    let isLengthKnown = delivery != .cut(after: Self.cut, declaresLength: false)
    #expect(
      partial.resumeState
        == ResumeState(
          validator: Self.tag, completeByteCount: isLengthKnown ? Self.length : nil,
          receivedByteCount: bytes.count))
    #expect(transfer.bytesReceived == bytes.count)
    #expect(fetcher.pool.heldBodyByteCount >= bytes.count)
    fetcher.releaseBody(transfer)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test(.ownThread) func `a transfer that runs out of time leaves a partial body`() throws {
    origin.serve("/a", resource(.stall(after: Self.cut)))
    let fetcher = try Fetcher { $0.transferTimeout = .milliseconds(1_500) }
    let transfer = try fetcher.fetch(url)
    #expect(transfer.failure?.code == .timeout)
    #expect(transfer.partialBody?.content.byteCount == Self.cut)
  }

  enum Unfit: CaseIterable {
    case short, withoutRanges, weakTag, withoutValidator, recentDate, notStorable, page
  }

  @Test(arguments: Unfit.allCases)
  func `a body that cannot be resumed leaves no partial body`(unfit: Unfit) throws {
    var resource = Resource(picture, entityTag: Self.tag, delivery: .cut(after: Self.cut))
    switch unfit {
    case .short: resource.delivery = .cut(after: 65_535)
    case .withoutRanges: resource.acceptsRanges = false
    case .weakTag: resource.entityTag = "W/\"v1\""
    case .withoutValidator: resource.entityTag = nil
    case .recentDate:
      resource.entityTag = nil
      resource.lastModified = "Fri, 01 Jan 2100 00:00:00 GMT"
    case .notStorable: resource.headers = [Header("Cache-Control", "no-store")]
    case .page:
      origin.serve("/a", .response(Response(status: 503, body: picture, delivery: .cut(after: 1))))
    }
    if unfit != .page { origin.serve("/a", .resource(resource)) }
    let fetcher = try Fetcher()
    let transfer = try fetcher.fetch(url)
    #expect(transfer.failure != nil)
    #expect(transfer.partialBody == nil)
    #expect(!transfer.isObsolete)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }
}
