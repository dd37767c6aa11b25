import FoundationEssentials
import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import TestOrigin
import TestPictures
import Testing

@testable import ImgWorker

/// Keeping originals, making thumbnails of them, and several sizes from one fetch.
@Suite(.timeLimit(.minutes(20))) struct OriginalTests {
  private let origin = TestOrigin()
  private let picture: [UInt8]
  private let worker: RunningWorker
  private let url: ImageURL

  init() throws {
    picture = try PictureMaker.start().card(index: 1)
    origin.serve("/a", .body(picture))
    worker = try RunningWorker()
    url = try ImageURL(parsing: origin.baseURL + "/a")
  }

  private func batch(_ lease: LeaseID, width: Int = 64, keep: Keep = .thumbnail) throws -> Batch {
    try Batch(lease, url.text, width: width, keep: keep)
  }

  private func fetch(_ lease: LeaseID, keep: Keep) throws -> Outcome? {
    try worker.send(.fetch(batch(lease, keep: keep)))
    let said = try worker.messages(untilEnded: 1)
    return said.outcomes[lease]
      ?? said.uncached[lease].map {
        .done($0.made.thumbnail, fromCache: false, bytesFetched: $0.bytesFetched)
      }
  }

  @Test(arguments: [(Keep.none, 0), (.thumbnail, 1), (.original, 1), (.all, 2)])
  func `what is kept is what was asked for`(keep: Keep, count: Int) throws {
    let outcome = try fetch(1, keep: keep)
    #expect(outcome?.width == (keep == .original ? 320 : 64))
    #expect(outcome?.bytesFetched == picture.count)
    #expect(try worker.entryCount() == count)
  }

  /// A drawing of 40 × 30 pixels, compressed as a whole (SVG 1.1 section 3.2), and the same in `gzip`.
  private static let drawings = [
    "H4sIAAAAAAACA7MpLktXqMjNySu2Vc8oKSmw0tcvLy/XKzfWyy9K1zcyMDDQB6pQVyjPTCnJsFU3MVBXyEjNTM8osVU3NlDX"
      + "twMALYU9skAAAAA=",
    "H4sIAAAAAAACA5Pv5mAAASbmzZp63uErTpw9qb0t9LyGpuaGS9f19fWva5tfO63vdd3cyMDgAvuqgHCN8z6aJzeEmhsGhJ/wOOtz"
      + "XmNjqLlZwPXtzAy6rbabHIBGAQCGMMWCUwAAAA==",
  ]

  @Test(arguments: [(0, nil), (0, "gzip"), (1, "gzip")])
  func `a compressed drawing comes in with and without a Content-Encoding`(
    drawing: Int, coding: String?
  ) throws {
    let bytes = try #require(Data(base64Encoded: Self.drawings[drawing]).map(Array.init))
    let headers = coding.map { [Header("Content-Encoding", $0)] } ?? []
    origin.serve("/a", .body(bytes, contentType: "image/svg+xml", headers: headers))
    let outcome = try fetch(1, keep: .all)
    #expect(outcome?.width == 64 && outcome?.bytesFetched == bytes.count)
    let key = ContentKey(originalOf: PictureName(url))
    let stored = try worker.store.current().withThumbnail(key, at: worker.now) { facts, _ in facts }
    // The original is the picture as it was before it was encoded.
    let decoded = drawing == 1 ? Data(base64Encoded: Self.drawings[0])?.count : nil
    #expect(stored?.thumbnail.byteCount == (coding == nil ? bytes.count : decoded ?? 64))
  }

  @Test func `look-ups tell originals from hits and misses`() throws {
    _ = try fetch(1, keep: .all)
    try worker.send(.lookup(batch(2)))
    try worker.send(.lookup(batch(3, width: 32)))
    try worker.send(.lookup(batch(4, width: 32, keep: .all)))
    try worker.send(.lookup(batch(5, width: 32, keep: .original)))
    let found = try (0..<4).map { _ in try worker.lookupResults() }
    #expect(found.map { $0.hits.map(\.lease) } == [[2], [], [], [5]])
    #expect(found.map(\.originals) == [[], [3], [4], []])
    #expect(found[3].hits.first?.thumbnail.byteCount == picture.count)
  }

  @Test(arguments: [false, true])
  func `an original that is not an image is removed and its lease released`(isCutOff: Bool) throws {
    try worker.keepOriginal(of: url, isCutOff ? Array(picture.prefix(100)) : [1, 2, 3])
    try worker.send(.decode(batch(1)))
    #expect(try worker.messages(untilEnded: 1).released == [1])
    #expect(try worker.entryCount() == 0)
  }

  // MARK: - Several sizes

  private func batch(_ lease: LeaseID, sides: [Int], keep: Keep = .thumbnail) throws -> Batch {
    let variants = try sides.map { try Variant(ImageVariant(width: $0, height: $0)) }
    return Batch(
      ThumbnailRequest(
        variant: variants[0], otherVariants: Array(variants.dropFirst()), keep: keep),
      retention: Retention(after: .seconds(60)), isUrgent: false,
      items: [Assignment(lease: lease, url: url.text)])
  }

  private func fetch(_ sides: [Int], keep: Keep = .thumbnail) throws {
    let outcome = try worker.outcome(of: .fetch(batch(1, sides: sides, keep: keep)))
    #expect(outcome?.width == sides[0])
  }

  private func isHit(_ sides: [Int], keep: Keep = .thumbnail) throws -> Bool {
    try worker.send(.lookup(batch(2, sides: sides, keep: keep)))
    return try worker.lookupResults().hits.map(\.thumbnail.width) == [sides[0]]
  }

  @Test func `a hit needs all sizes`() throws {
    try fetch([64, 32])
    #expect(try isHit([64, 32]))
    #expect(try isHit([32, 64]))
    #expect(try isHit([32]))
    #expect(try !isHit([64, 32, 16]))
    #expect(try !isHit([64, 32], keep: .all))
  }

  @Test func `with the original, missing sizes need no request`() throws {
    try fetch([64], keep: .all)
    try worker.send(.lookup(batch(2, sides: [64, 32])))
    #expect(try worker.lookupResults().originals == [2])
    #expect(try worker.outcome(of: .decode(batch(3, sides: [64, 32])))?.width == 64)
    #expect(try isHit([64, 32]))
    #expect(origin.counters("/a").requests == 1)
  }

  @Test func `a long original is kept in chunks, and sizes and facts are made from it`() throws {
    let long = picture + [UInt8](repeating: 7, count: ChunkedContent.groupByteCount + 1)
    origin.serve("/a", .body(long))
    try fetch([64], keep: .all)
    #expect(try worker.original(of: url) == long)
    let key = ContentKey(originalOf: PictureName(url))
    #expect(try worker.store.current().chunkedContent(of: key, at: worker.now) != nil)
    #expect(try worker.outcome(of: .decode(batch(2, width: 32)))?.width == 32)
    #expect(try worker.outcome(of: .decode(batch(3, keep: .allFacts)))?.width == 320)
    #expect(origin.counters("/a").requests == 1)
  }
}

/// Originals whose headers alone are checked.
@Suite(.timeLimit(.minutes(20))) struct UndecodedOriginalTests {
  private let origin = TestOrigin()
  private let picture: [UInt8]
  private let url: ImageURL

  init() throws {
    picture = try PictureMaker.start().scene(width: 320, height: 240, format: .jpeg)
    url = try ImageURL(parsing: origin.baseURL + "/a")
  }

  /// Its header is right.
  private var broken: [UInt8] { Array(picture.prefix(picture.count / 2)) }

  private func batch(
    _ lease: LeaseID, keep: Keep = .undecodedOriginal, width: Int = 64
  ) throws -> Batch {
    try Batch(lease, url.text, width: width, keep: keep)
  }

  @Test func `a broken picture is stored, and found broken when a thumbnail is asked for`() throws {
    origin.serve("/a", .body(broken))
    let worker = try RunningWorker()
    let stored = try worker.outcome(of: .fetch(batch(1)))
    #expect(
      stored
        == .done(
          Thumbnail(format: .jpeg, width: 320, height: 240, byteCount: broken.count),
          fromCache: false, bytesFetched: broken.count))
    #expect(try worker.original(of: url) == broken)
    // It is all that such a request asks for, and not what an eager one does.
    for (lease, keep) in [(2, Keep.undecodedOriginal), (3, .original)] as [(LeaseID, Keep)] {
      try worker.send(.lookup(batch(lease, keep: keep)))
      let found = try worker.lookupResults()
      #expect(found.hits.map(\.lease) == (lease == 2 ? [2] : []))
      #expect(found.originals == (lease == 3 ? [3] : []))
    }
    for (lease, keep) in [(4, Keep.thumbnail), (5, .original)] as [(LeaseID, Keep)] {
      let outcome = try worker.outcome(of: .decode(batch(lease, keep: keep)))
      #expect(outcome?.failureCode == .corruptImage)
    }
    #expect(try worker.original(of: url) == broken)
    #expect(origin.counters("/a").requests == 1)
  }

  @Test func `each lease of a transfer gets what it asked for`() throws {
    origin.serve("/a", .resource(Resource(broken, delivery: .hold)))
    let worker = try RunningWorker()
    try worker.send(.fetch(batch(1, keep: .thumbnail)))
    try worker.send(.attach(batch(2)))
    try worker.waitUntilHandled()
    origin.release("/a")
    let outcomes = try worker.messages(untilEnded: 2).outcomes
    #expect(outcomes[1]?.failureCode == .corruptImage)
    #expect(outcomes[2]?.width == 320)
    #expect(origin.counters("/a").requests == 1)
    // The transfer is over.
    try worker.send(.attach(batch(3)))
    #expect(try worker.messages(untilEnded: 1).outcomes[3]?.isFromCache == true)
  }

  @Test func `a long one is stored in chunks, and decoded from there`() throws {
    let long = picture + [UInt8](repeating: 7, count: ChunkedContent.groupByteCount + 1)
    origin.serve("/a", .body(long))
    let worker = try RunningWorker()
    #expect(try worker.outcome(of: .fetch(batch(1)))?.width == 320)
    #expect(try worker.original(of: url) == long)
    #expect(try worker.outcome(of: .decode(batch(2)))?.isFromCache == true)
    for (lease, width) in [(3, 64), (4, 32)] as [(LeaseID, Int)] {
      let outcome = try worker.outcome(
        of: .decode(batch(lease, keep: .thumbnail, width: width)))
      #expect(outcome?.width == width)
    }
    #expect(origin.counters("/a").requests == 1)
  }

  @Test func `a header fails as it does for a thumbnail, and nothing is stored`() throws {
    let maker = try PictureMaker.start()
    // The marker of its frame says so (ITU-T T.81 table B.1).
    var lossless = picture
    let frame = try #require(
      zip(lossless, lossless.dropFirst()).enumerated().first { $1.0 == 0xFF && $1.1 == 0xC0 })
    lossless[frame.offset + 1] = 0xC3
    let pictures: [(bytes: [UInt8], code: Failure.Code)] = [
      (lossless, .unsupportedFormat),
      (Array("<!doctype html><html>".utf8), .notAnImage), ([1, 2, 3], .notAnImage),
      (Array(picture.prefix(30)), .corruptImage),
      (try maker.jpeg2000Card(index: 1), .unsupportedFormat),
      (try maker.blank(side: 400), .tooManyPixels),
      (try maker.animation(index: 1, frameCount: 4), .tooManyFrames),
      (try maker.animation(index: 1, frameCount: 4, format: .webp), .tooManyFrames),
    ]
    var limits = Limits()
    limits.maxPixels = 320 * 240
    limits.maxFrames = 3
    let worker = try RunningWorker(limits: limits)
    for (number, (bytes, code)) in pictures.enumerated() {
      origin.serve("/a", .body(bytes))
      for (part, keep) in [Keep.thumbnail, .undecodedOriginal].enumerated() {
        let lease = LeaseID(rawValue: UInt64(2 * number + part + 1))
        let outcome = try worker.outcome(of: .fetch(batch(lease, keep: keep)))
        #expect(outcome?.failureCode == code, "\(code) \(keep)")
      }
    }
    #expect(try worker.entryCount() == 0)
  }

  @Test func `an uploaded one is stored as it is, and replaces what was there`() throws {
    origin.serve("/a", .body(picture))
    let worker = try RunningWorker()
    _ = try worker.outcome(of: .fetch(batch(1)))
    let request = ThumbnailRequest(variant: .standard, keep: .undecodedOriginal)
    let upload = Upload(
      lease: 2, url: url.text, request: request, retention: Retention(after: .seconds(60)),
      byteCount: broken.count)
    try worker.send(.decodeUpload(upload), with: MemoryFile(containing: broken).file)
    #expect(try worker.messages(untilEnded: 1).outcomes[2]?.width == 320)
    #expect(try worker.original(of: url) == broken)
  }
}

/// Damaged pictures, for requests that accept damage and for others.
@Suite(.timeLimit(.minutes(20))) struct LenientTests {
  private let origin = TestOrigin()
  private let picture: [UInt8]
  private let damaged: [UInt8]
  private let worker: RunningWorker
  private let url: ImageURL

  init() throws {
    picture = try PictureMaker.start().scene(width: 320, height: 240, format: .jpeg)
    damaged = Array(picture.prefix(picture.count / 2))
    worker = try RunningWorker()
    url = try ImageURL(parsing: origin.baseURL + "/a")
    serve(damaged)
  }

  private func serve(_ body: [UInt8], entityTag: String = "\"1\"", delivery: BodyDelivery = .whole)
  {
    let resource = Resource(
      body, entityTag: entityTag, delivery: delivery,
      headers: [Header("Cache-Control", "max-age=0")])
    origin.serve("/a", .resource(resource))
  }

  private func batch(
    _ lease: LeaseID, isLenient: Bool, width: Int = 64, keep: Keep = .thumbnail,
    policy: CachePolicy = .cacheElseLoad
  ) throws -> Batch {
    try Batch(
      lease, url.text, width: width, isLenient: isLenient, keep: keep,
      fetch: FetchOptions(cachePolicy: policy))
  }

  private func lookUp(
    isLenient: Bool, width: Int = 64, keep: Keep = .thumbnail
  ) throws -> LookupResults {
    try worker.send(.lookup(batch(99, isLenient: isLenient, width: width, keep: keep)))
    return try worker.lookupResults()
  }

  private var requestCount: Int { origin.counters("/a").requests }

  @Test func `the thumbnail of a damaged picture answers only lenient requests`() throws {
    let strict = try worker.outcome(of: .fetch(batch(1, isLenient: false)))
    #expect(strict?.failureCode == .corruptImage)
    #expect(try worker.outcome(of: .fetch(batch(2, isLenient: true)))?.isDamaged == true)
    #expect(try lookUp(isLenient: false).misses == [99])
    #expect(try lookUp(isLenient: true).hits.first?.thumbnail.isDamaged == true)
    #expect(try worker.outcome(of: .fetch(batch(3, isLenient: false))) == strict)
    #expect(try lookUp(isLenient: true).hits.count == 1)
  }

  @Test func `the thumbnail of an undamaged picture answers all and replaces others`() throws {
    #expect(try worker.outcome(of: .fetch(batch(1, isLenient: true)))?.isDamaged == true)
    serve(picture, entityTag: "\"2\"")
    #expect(try worker.outcome(of: .fetch(batch(2, isLenient: false)))?.isDamaged == false)
    for isLenient in [false, true] {
      #expect(try lookUp(isLenient: isLenient).hits.first?.thumbnail.isDamaged == false)
    }
    #expect(try worker.outcome(of: .fetch(batch(3, isLenient: true)))?.isDamaged == false)
  }

  @Test func `leases of one transfer have their own outcomes`() throws {
    serve(damaged, delivery: .hold)
    try worker.send(.fetch(batch(1, isLenient: false)))
    try worker.send(.attach(batch(2, isLenient: true)))
    try worker.waitUntilHandled()
    origin.release("/a")
    let outcomes = try worker.messages(untilEnded: 2).outcomes
    #expect(outcomes[1]?.failureCode == .corruptImage)
    #expect(outcomes[2]?.isDamaged == true)
    #expect(requestCount == 1)
  }

  @Test func `a damaged original answers only lenient requests, and stays`() throws {
    let kept = try worker.outcome(of: .fetch(batch(1, isLenient: true, keep: .all)))
    #expect(kept?.isDamaged == true)
    #expect(try lookUp(isLenient: false, keep: .original).misses == [99])
    #expect(try lookUp(isLenient: true, keep: .original).hits.first?.thumbnail.isDamaged == true)
    try worker.send(.decode(batch(2, isLenient: false, width: 32)))
    #expect(try worker.messages(untilEnded: 1).released == [2])
    #expect(try lookUp(isLenient: true, width: 32).originals == [99])
    let small = try worker.outcome(of: .decode(batch(3, isLenient: true, width: 32)))
    #expect(small?.isDamaged == true)
    #expect(requestCount == 1)
  }

  @Test func `a 304 keeps the mark`() throws {
    let policy = CachePolicy.byProtocol
    let made = try worker.outcome(of: .fetch(batch(1, isLenient: true, policy: policy)))
    #expect(made?.isDamaged == true)
    let renewed = try worker.outcome(of: .fetch(batch(2, isLenient: true, policy: policy)))
    #expect(renewed?.isFromCache == true)
    #expect(renewed?.isDamaged == true)
    #expect(origin.counters("/a").headersSeen["if-none-match"] == "\"1\"")
    #expect(try lookUp(isLenient: false).misses == [99])
    #expect(try lookUp(isLenient: true).hits.first?.thumbnail.isDamaged == true)
    // The record is none to a strict request, which asks for the picture itself.
    let strict = try worker.outcome(of: .fetch(batch(3, isLenient: false, policy: policy)))
    #expect(strict?.failureCode == .corruptImage)
    #expect(origin.counters("/a").headersSeen["if-none-match"] == nil)
  }

  @Test func `a strict lease attached to a revalidation of a damaged record is released`() throws {
    let policy = CachePolicy.byProtocol
    let made = try worker.outcome(of: .fetch(batch(1, isLenient: true, policy: policy)))
    #expect(made?.isDamaged == true)
    serve(damaged, delivery: .hold)
    try worker.send(.fetch(batch(2, isLenient: true, policy: policy)))
    try worker.send(.attach(batch(3, isLenient: false, policy: policy)))
    try worker.waitUntilHandled()
    origin.release("/a")
    let said = try worker.messages(untilEnded: 2)
    #expect(said.outcomes[2]?.isDamaged == true)
    #expect(said.released == [3])
  }
}
