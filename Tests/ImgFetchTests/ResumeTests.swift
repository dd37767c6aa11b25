import ImgFetch
import ImgModel
import TestOrigin
import Testing

/// Transfers that request only the rest of a picture.
@Suite(.timeLimit(.minutes(20))) struct ResumeTests: ResumableDownload {
  let origin = TestOrigin()
  let picture = noise(length)

  @Test(arguments: [true, false])
  func `only the rest is requested, and each byte counts once`(declaresLength: Bool) throws {
    origin.serve(
      "/a",
      .sequence([resource(.cut(after: Self.cut, declaresLength: declaresLength)), resource()]))
    let fetcher = try Fetcher()
    let transfer = try fetcher.fetch(url, resuming: partialBody(fetcher))
    #expect(transfer.body?.holds(picture) == true)
    #expect(transfer.bytesReceived == picture.count)
    #expect(transfer.isObsolete)
    let counters = origin.counters("/a")
    #expect(counters.ranges == ["bytes=300000-"])
    #expect(counters.headersSeen["if-range"] == Self.tag)
    #expect(counters.requests == 2)
    #expect(counters.bytesSent == picture.count)
  }

  @Test func `a long body is resumed in its file`() throws {
    let long = noise(6 << 20)
    let whole = Resource(long, entityTag: Self.tag)
    var broken = whole
    broken.delivery = .cut(after: 5 << 20)
    origin.serve("/a", .sequence([.resource(broken), .resource(whole)]))
    let fetcher = try Fetcher()
    let first = try fetcher.fetch(url)
    let bytes = try #require(first.partialBody).content.bytes()
    fetcher.releaseBody(first)
    #expect(fetcher.pool.heldFileByteCount == 0)
    let state = try #require(first.partialBody).resumeState
    let copy = fetcher.pool.content(copying: bytes.span)
    let transfer = try fetcher.fetch(url, resuming: PartialBody(content: copy, resumeState: state))
    #expect(transfer.body?.isInFile == true)
    #expect(transfer.body?.holds(long) == true)
    #expect(fetcher.pool.heldBodyByteCount == 0)
    #expect(origin.counters("/a").bytesSent == long.count)
  }

  @Test func `the rest is requested only from the URL that sent the partial body`() throws {
    let other = noise(Self.length, seed: 2)
    origin.serve("/r", .sequence([.redirect(to: "/a"), .redirect(to: "/b")]))
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .redirect(to: "/b")]))
    origin.serve("/b", .resource(Resource(other, entityTag: Self.tag)))
    let fetcher = try Fetcher()
    let left = try #require(fetcher.fetch(origin.baseURL + "/r").partialBody)
    #expect(try fetcher.fetch(origin.baseURL + "/r", resuming: left).body?.holds(other) == true)
    let direct = PartialBody(
      content: left.content,
      resumeState: ResumeState(
        validator: Self.tag, completeByteCount: Self.length, receivedByteCount: Self.cut))
    let transfer = try fetcher.fetch(url, resuming: direct)
    #expect(transfer.body?.holds(other) == true)
    #expect(transfer.bytesReceived == Self.length)
    #expect(origin.counters("/a").ranges == ["bytes=300000-"])
    #expect(origin.counters("/b").ranges.isEmpty)
  }

  @Test func `without room for the partial body, the whole is fetched`() throws {
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), resource()]))
    origin.serve("/b", .body(noise(500_000)))
    let fetcher = try Fetcher(bodyBudget: 3_000_000)
    let first = try fetcher.fetch(url)
    let left = try #require(first.partialBody)
    fetcher.releaseBody(first)
    // Handed out and not given back, so that not even the oldest may pass the budget.
    let other = try fetcher.fetch(origin.baseURL + "/b")
    let copy = PartialBody(content: .memory(noise(2_600_000)), resumeState: left.resumeState)
    let transfer = try fetcher.fetch(url, resuming: copy)
    #expect(transfer.body?.holds(picture) == true)
    #expect(!transfer.isObsolete)
    #expect(origin.counters("/a").ranges.isEmpty)
    fetcher.releaseBody(transfer)
    fetcher.releaseBody(other)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }
}

/// Origins that send something else than the requested rest.
@Suite(.timeLimit(.minutes(20))) struct ResumeRefusalTests: ResumableDownload {
  let origin = TestOrigin()
  let picture = noise(length)

  /// What an origin may send instead of the rest.
  enum WrongResponse: CaseIterable {
    case laterStart, earlierStart, fromZero, earlierEnd, otherLength, shorterBody, noRange,
      otherUnit, severalParts, otherTag, weakTag, noTag, empty, unsatisfiable, unsatisfiableBare
  }

  private func response(_ wrong: WrongResponse) -> Response {
    let tag = Header("ETag", Self.tag)
    let rest = Array(picture[Self.cut...])
    func part(_ range: String, _ bytes: [UInt8], tag: Header? = Header("ETag", Self.tag))
      -> Response
    {
      let headers = [Header("Content-Range", range), tag].compactMap(\.self)
      return Response(status: 206, headers: headers, body: bytes)
    }
    return switch wrong {
    case .laterStart: part("bytes 300001-999999/1000000", Array(rest.dropFirst()))
    case .earlierStart: part("bytes 299999-999999/1000000", [0] + rest)
    case .fromZero: part("bytes 0-999999/1000000", picture)
    case .earlierEnd: part("bytes 300000-999998/1000000", rest.dropLast())
    case .otherLength: part("bytes 300000-1000000/1000001", rest + [0])
    case .shorterBody: part("bytes 300000-999999/1000000", rest.dropLast())
    case .noRange: Response(status: 206, headers: [tag], body: rest)
    case .otherUnit: part("items 300000-999999/1000000", rest)
    case .severalParts:
      Response(
        status: 206, headers: [tag, Header("Content-Type", "multipart/byteranges; boundary=x")],
        body: Array("--x\r\nContent-Range: bytes 300000-999999/1000000\r\n\r\n".utf8) + rest)
    case .otherTag: part("bytes 300000-999999/1000000", rest, tag: Header("ETag", "\"v2\""))
    case .weakTag: part("bytes 300000-999999/1000000", rest, tag: Header("ETag", "W/\"v1\""))
    case .noTag: part("bytes 300000-999999/1000000", rest, tag: nil)
    case .empty: part("bytes 300000-999999/1000000", [])
    case .unsatisfiable:
      Response(status: 416, headers: [Header("Content-Range", "bytes */200")])
    case .unsatisfiableBare: Response(status: 416, body: Array("no".utf8))
    }
  }

  @Test(arguments: WrongResponse.allCases)
  func `an unusable response restarts the transfer at once, and once`(wrong: WrongResponse) throws {
    origin.serve(
      "/a", .sequence([resource(.cut(after: Self.cut)), .response(response(wrong)), resource()]))
    let fetcher = try Fetcher()
    let first = try fetcher.fetch(url)
    let transfer = try fetcher.fetch(url, resuming: first.partialBody)
    #expect(transfer.body?.holds(picture) == true)
    #expect(transfer.isObsolete)
    let counters = origin.counters("/a")
    #expect(counters.requests == 3)
    #expect(counters.ranges == ["bytes=300000-"])
    #expect(counters.headersSeen["if-range"] == nil)
    // Of a part that is refused, not all may have come in.
    #expect(transfer.bytesReceived >= Self.cut + picture.count)
    #expect(transfer.bytesReceived <= counters.bytesSent)
    fetcher.releaseBody(first)
    fetcher.releaseBody(transfer)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test func `a length that the part leaves out is known from the partial body`() throws {
    var response = Response(status: 206, body: Array(picture[Self.cut...]))
    response.headers = [
      Header("Content-Range", "bytes 300000-999999/*"), Header("ETag", Self.tag),
    ]
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .response(response)]))
    let fetcher = try Fetcher()
    #expect(try fetcher.fetch(url, resuming: partialBody(fetcher)).body?.holds(picture) == true)
    #expect(origin.counters("/a").requests == 2)
  }

  @Test func `a part of unknown length that ends early is not all of it`() throws {
    var response = Response(status: 206, body: Array(picture[Self.cut...].dropLast()))
    response.headers = [
      Header("Content-Range", "bytes 300000-999999/1000000"), Header("ETag", Self.tag),
    ]
    response.delivery = .chunked
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .response(response)]))
    let fetcher = try Fetcher()
    let transfer = try fetcher.fetch(url, resuming: partialBody(fetcher))
    #expect(transfer.failure?.code == .truncatedBody)
    #expect(transfer.partialBody?.content.byteCount == picture.count - 1)
  }

  @Test(arguments: [BodyDelivery.whole, .chunked])
  func `a picture that has changed comes in whole`(delivery: BodyDelivery) throws {
    let other = noise(900_000, seed: 2)
    let changed = Resource(other, entityTag: "\"v2\"", delivery: delivery)
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .resource(changed)]))
    let fetcher = try Fetcher()
    let first = try fetcher.fetch(url)
    let transfer = try fetcher.fetch(url, resuming: first.partialBody)
    #expect(transfer.body?.holds(other) == true)
    #expect(transfer.bytesReceived == Self.cut + other.count)
    #expect(transfer.isObsolete)
    #expect(origin.counters("/a").requests == 2)
    fetcher.releaseBody(first)
    fetcher.releaseBody(transfer)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test func `a changed picture that breaks off leaves its own partial body`() throws {
    let other = noise(900_000, seed: 2)
    let changed = Resource(other, entityTag: "\"v2\"", delivery: .cut(after: 100_000))
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .resource(changed)]))
    let fetcher = try Fetcher()
    let left = try #require(fetcher.fetch(url, resuming: partialBody(fetcher)).partialBody)
    #expect(
      left.resumeState
        == ResumeState(
          validator: "\"v2\"", completeByteCount: 900_000,
          receivedByteCount: Self.cut + 100_000))
    #expect(try left.content.bytes() == Array(other.prefix(100_000)))
  }

  @Test func `a changed picture is examined by its own first bytes`() throws {
    let refusal = Failure(stage: .decode, code: .notAnImage, detail: "refused")
    let other = noise(900_000, seed: 2)
    origin.serve(
      "/a",
      .sequence([
        resource(.cut(after: Self.cut)), .resource(Resource(other, entityTag: "\"v2\"")),
      ]))
    let reject = EarlyReject(byteCount: 1_000) { head in
      head == Array(other.prefix(1_000)) ? refusal : nil
    }
    let fetcher = try Fetcher(earlyReject: reject)
    let transfer = try fetcher.fetch(url, resuming: partialBody(fetcher))
    #expect(transfer.failure == refusal)
    #expect(transfer.isObsolete)
  }

  @Test(arguments: [(503, false), (429, false), (404, true), (410, true)])
  func `a retryable error keeps the partial body`(status: Int, isObsolete: Bool) throws {
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .status(status)]))
    let fetcher = try Fetcher()
    let transfer = try fetcher.fetch(url, resuming: partialBody(fetcher))
    #expect(transfer.failure?.httpStatus == status)
    #expect(transfer.partialBody == nil)
    #expect(transfer.isObsolete == isObsolete)
  }

  @Test func `a part that was not requested is refused`() throws {
    origin.serve("/a", .response(response(.fromZero)))
    let transfer = try Fetcher().fetch(url)
    #expect(transfer.failure?.httpStatus == 206)
    #expect(transfer.partialBody == nil)
  }

  @Test(.ownThread) func `a restart has only the time that is left`() throws {
    let refusal = Response(status: 416, headerDelay: .seconds(1))
    let whole = Response(body: picture, headerDelay: .seconds(1))
    origin.serve(
      "/a", .sequence([resource(.cut(after: Self.cut)), .response(refusal), .response(whole)]))
    let fetcher = try Fetcher { $0.transferTimeout = .milliseconds(1_500) }
    let transfer = try fetcher.fetch(url, resuming: partialBody(fetcher))
    #expect(transfer.failure?.code == .timeout)
  }
}

/// An origin with a picture, `/a`, whose transfer breaks off.
protocol ResumableDownload {
  var origin: TestOrigin { get }
  var picture: [UInt8] { get }
}

extension ResumableDownload {
  static var tag: String { "\"v1\"" }
  static var length: Int { 1_000_000 }
  /// The bytes after which the transfer breaks off.
  static var cut: Int { 300_000 }

  var url: String { origin.baseURL + "/a" }

  func resource(_ delivery: BodyDelivery = .whole) -> Behaviour {
    .resource(Resource(picture, entityTag: Self.tag, delivery: delivery))
  }

  /// Fetches a body that breaks off.
  func partialBody(_ fetcher: Fetcher) throws -> PartialBody {
    try #require(fetcher.fetch(url).partialBody)
  }
}

extension FinishedTransfer {
  var partialBody: PartialBody? {
    guard case .partial(let partial, _) = leftover else { return nil }
    return partial
  }

  /// Whether the partial body in the store is of no use any more.
  var isObsolete: Bool {
    if case .obsolete = leftover { true } else { false }
  }

  fileprivate var chargeOfPartialBody: BodyCharge? {
    guard case .partial(_, let charge) = leftover else { return nil }
    return charge
  }
}

extension Fetcher {
  /// Gives back the body, or the partial body, of a transfer.
  func releaseBody(_ transfer: FinishedTransfer) {
    if let charge = transfer.body?.charge ?? transfer.chargeOfPartialBody {
      pool.releaseBody(charge)
    }
  }
}
