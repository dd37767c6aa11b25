import ImgFetch
import ImgModel
import TestOrigin
import Testing

/// Transfers that break off, and those that go on from what they left.
@Suite(.timeLimit(.minutes(20))) struct ResumeTests {
  private static let tag = "\"v1\""
  private static let length = 1_000_000
  private static let cut = 300_000
  private let origin: TestOrigin
  private let picture = noise(length)

  init() throws {
    origin = try TestOrigin()
  }

  private var url: String { origin.baseURL + "/a" }

  private func resource(_ delivery: Delivery = .whole) -> Behaviour {
    .resource(Resource(picture, entityTag: Self.tag, delivery: delivery))
  }

  /// Fetches what breaks off.
  private func beginning(_ fetcher: Fetcher) throws -> BodyBeginning {
    try #require(fetcher.fetch(url).beginning)
  }

  // MARK: - What is left

  @Test(arguments: [
    Delivery.cut(after: cut), .cut(after: cut, declaresLength: false), .reset(after: cut),
    .stall(after: cut),
  ])
  func `a transfer that breaks off leaves what came in`(delivery: Delivery) throws {
    origin.serve("/a", resource(delivery))
    let fetcher = try Fetcher { $0.stallTimeoutMilliseconds = 1_000 }
    let transfer = try fetcher.fetch(url)
    let beginning = try #require(transfer.beginning)
    let bytes = try beginning.content.bytes()
    // What the kernel has not handed over goes with a reset.
    #expect(bytes.count == Self.cut || delivery == .reset(after: Self.cut))
    #expect(bytes == Array(picture.prefix(bytes.count)))
    let isLengthKnown = delivery != .cut(after: Self.cut, declaresLength: false)
    #expect(
      beginning.mark
        == BodyMark(
          validator: Self.tag, completeByteCount: isLengthKnown ? Self.length : nil,
          receivedByteCount: bytes.count))
    #expect(transfer.bytesReceived == bytes.count)
    #expect(fetcher.pool.heldBodyByteCount >= bytes.count)
    fetcher.giveBack(transfer)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test func `a transfer that runs out of time leaves what came in`() throws {
    origin.serve("/a", resource(.stall(after: Self.cut)))
    let fetcher = try Fetcher { $0.transferTimeoutMilliseconds = 1_500 }
    let transfer = try fetcher.fetch(url)
    #expect(transfer.failure?.code == .timeout)
    #expect(transfer.beginning?.content.byteCount == Self.cut)
  }

  enum Unfit: CaseIterable {
    case short, withoutRanges, weakTag, withoutValidator, recentDate, notStorable, page
  }

  @Test(arguments: Unfit.allCases)
  func `nothing is left of what nobody could go on from`(unfit: Unfit) throws {
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
    #expect(transfer.beginning == nil)
    #expect(!transfer.isUseless)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test func `64 KiB are left, also of a picture that is known by its date alone`() throws {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    let resource = Resource(picture, lastModified: date)
    var broken = resource
    broken.delivery = .cut(after: 65_536)
    origin.serve("/a", .sequence([.resource(broken), .resource(resource)]))
    let fetcher = try Fetcher()
    let left = try beginning(fetcher)
    #expect(left.mark.validator == date)
    let transfer = try fetcher.fetch(url, from: left)
    #expect(transfer.body?.holds(picture) == true)
    #expect(origin.counters("/a").headersSeen["if-range"] == date)
    #expect(origin.counters("/a").ranges == ["bytes=65536-"])
    #expect(origin.counters("/a").bytesSent == picture.count)
  }

  @Test func `what begins anew has the time that is left`() throws {
    let refusal = Response(status: 416, headerDelay: .seconds(3))
    let whole = Response(body: picture, headerDelay: .seconds(3))
    origin.serve(
      "/a", .sequence([resource(.cut(after: Self.cut)), .response(refusal), .response(whole)]))
    let fetcher = try Fetcher { $0.transferTimeoutMilliseconds = 5_000 }
    let transfer = try fetcher.fetch(url, from: beginning(fetcher))
    #expect(transfer.failure?.code == .timeout)
  }

  // MARK: - The rest

  @Test(arguments: [true, false])
  func `only the rest is asked for, and every byte is sent and counted once`(
    declaresLength: Bool
  ) throws {
    origin.serve(
      "/a",
      .sequence([resource(.cut(after: Self.cut, declaresLength: declaresLength)), resource()]))
    let fetcher = try Fetcher()
    let transfer = try fetcher.fetch(url, from: beginning(fetcher))
    #expect(transfer.body?.holds(picture) == true)
    #expect(transfer.bytesReceived == picture.count)
    #expect(transfer.isUseless)
    let counters = origin.counters("/a")
    #expect(counters.ranges == ["bytes=300000-"])
    #expect(counters.headersSeen["if-range"] == Self.tag)
    #expect(counters.requests == 2)
    #expect(counters.bytesSent == picture.count)
  }

  @Test func `what breaks off again goes on from there`() throws {
    origin.serve(
      "/a",
      .sequence([resource(.cut(after: Self.cut)), resource(.cut(after: 200_000)), resource()])
    )
    let fetcher = try Fetcher()
    let second = try fetcher.fetch(url, from: beginning(fetcher))
    let left = try #require(second.beginning)
    #expect(left.mark.receivedByteCount == 500_000)
    #expect(try left.content.bytes() == Array(picture.prefix(500_000)))
    #expect(try fetcher.fetch(url, from: left).body?.holds(picture) == true)
    #expect(origin.counters("/a").ranges == ["bytes=300000-", "bytes=500000-"])
    #expect(origin.counters("/a").bytesSent == picture.count)
  }

  @Test func `a long body goes on in its file`() throws {
    let long = noise(6 << 20)
    let whole = Resource(long, entityTag: Self.tag)
    var broken = whole
    broken.delivery = .cut(after: 5 << 20)
    origin.serve("/a", .sequence([.resource(broken), .resource(whole)]))
    let fetcher = try Fetcher()
    let first = try fetcher.fetch(url)
    let bytes = try #require(first.beginning).content.bytes()
    fetcher.giveBack(first)
    #expect(fetcher.pool.heldFileByteCount == 0)
    let mark = try #require(first.beginning).mark
    let copy = fetcher.pool.content(copying: bytes.span)
    let transfer = try fetcher.fetch(url, from: BodyBeginning(content: copy, mark: mark))
    #expect(transfer.body?.isInFile == true)
    #expect(transfer.body?.holds(long) == true)
    #expect(fetcher.pool.heldBodyByteCount == 0)
    #expect(origin.counters("/a").bytesSent == long.count)
  }

  @Test func `behind a redirect the rest is asked for at its end`() throws {
    origin.serve("/r", .redirect(to: "/a"))
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), resource()]))
    let fetcher = try Fetcher()
    let left = try #require(fetcher.fetch(origin.baseURL + "/r").beginning)
    #expect(try fetcher.fetch(origin.baseURL + "/r", from: left).body?.holds(picture) == true)
    #expect(origin.counters("/a").ranges == ["bytes=300000-"])
    #expect(origin.counters("/a").bytesSent == picture.count)
    #expect(origin.counters("/r").ranges.isEmpty)
  }

  @Test func `the rest is asked for of no URL but the one that sent the beginning`() throws {
    let other = noise(Self.length, seed: 2)
    origin.serve("/r", .sequence([.redirect(to: "/a"), .redirect(to: "/b")]))
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .redirect(to: "/b")]))
    origin.serve("/b", .resource(Resource(other, entityTag: Self.tag)))
    let fetcher = try Fetcher()
    let left = try #require(fetcher.fetch(origin.baseURL + "/r").beginning)
    #expect(try fetcher.fetch(origin.baseURL + "/r", from: left).body?.holds(other) == true)
    let direct = BodyBeginning(
      content: left.content,
      mark: BodyMark(
        validator: Self.tag, completeByteCount: Self.length, receivedByteCount: Self.cut))
    let transfer = try fetcher.fetch(url, from: direct)
    #expect(transfer.body?.holds(other) == true)
    #expect(transfer.bytesReceived == Self.length)
    #expect(origin.counters("/a").ranges == ["bytes=300000-"])
    #expect(origin.counters("/b").ranges.isEmpty)
  }

  @Test func `a 304 to a request for the rest is answered by asking for all`() throws {
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .status(304), resource()]))
    let fetcher = try Fetcher()
    let transfer = try fetcher.fetch(url, from: beginning(fetcher))
    #expect(transfer.body?.holds(picture) == true)
    #expect(transfer.isUseless)
    #expect(origin.counters("/a").ranges == ["bytes=300000-"])
    #expect(origin.counters("/a").requests == 3)
  }

  @Test func `where there is no room for the beginning, all is fetched`() throws {
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), resource()]))
    origin.serve("/b", .body(noise(500_000)))
    let fetcher = try Fetcher(bodyBudget: 1_600_000)
    let first = try fetcher.fetch(url)
    let left = try #require(first.beginning)
    fetcher.giveBack(first)
    // Handed out and not given back, so that not even the oldest may pass the budget.
    let other = try fetcher.fetch(origin.baseURL + "/b")
    let copy = BodyBeginning(content: .memory(noise(1_200_000)), mark: left.mark)
    let transfer = try fetcher.fetch(url, from: copy)
    #expect(transfer.body?.holds(picture) == true)
    #expect(!transfer.isUseless)
    #expect(origin.counters("/a").ranges.isEmpty)
    fetcher.giveBack(transfer)
    fetcher.giveBack(other)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  // MARK: - Other answers

  /// What an origin may say instead.
  enum WrongAnswer: CaseIterable {
    case laterStart, earlierStart, fromZero, earlierEnd, otherLength, shorterBody, noRange,
      otherUnit, severalParts, otherTag, weakTag, noTag, empty, unsatisfiable, unsatisfiableBare
  }

  private func response(_ wrong: WrongAnswer) -> Response {
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

  @Test(arguments: WrongAnswer.allCases)
  func `an answer of no use has all fetched at once, and once`(wrong: WrongAnswer) throws {
    origin.serve(
      "/a", .sequence([resource(.cut(after: Self.cut)), .response(response(wrong)), resource()]))
    let fetcher = try Fetcher()
    let first = try fetcher.fetch(url)
    let transfer = try fetcher.fetch(url, from: first.beginning)
    #expect(transfer.body?.holds(picture) == true)
    #expect(transfer.isUseless)
    let counters = origin.counters("/a")
    #expect(counters.requests == 3)
    #expect(counters.ranges == ["bytes=300000-"])
    #expect(counters.headersSeen["if-range"] == nil)
    // Of a part that is refused, not all may have come in.
    #expect(transfer.bytesReceived >= Self.cut + picture.count)
    #expect(transfer.bytesReceived <= counters.bytesSent)
    fetcher.giveBack(first)
    fetcher.giveBack(transfer)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test func `an origin that refuses every part is asked for one only`() throws {
    origin.serve(
      "/a", .sequence([resource(.cut(after: Self.cut)), .response(response(.unsatisfiable))]))
    let fetcher = try Fetcher()
    let transfer = try fetcher.fetch(url, from: beginning(fetcher))
    #expect(transfer.failure?.httpStatus == 416)
    #expect(transfer.isUseless)
    #expect(origin.counters("/a").requests == 3)
  }

  @Test func `a length that the part leaves out is known from before`() throws {
    var response = Response(status: 206, body: Array(picture[Self.cut...]))
    response.headers = [
      Header("Content-Range", "bytes 300000-999999/*"), Header("ETag", Self.tag),
    ]
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .response(response)]))
    let fetcher = try Fetcher()
    #expect(try fetcher.fetch(url, from: beginning(fetcher)).body?.holds(picture) == true)
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
    let transfer = try fetcher.fetch(url, from: beginning(fetcher))
    #expect(transfer.failure?.code == .truncatedBody)
    #expect(transfer.beginning?.content.byteCount == picture.count - 1)
  }

  @Test(arguments: [Delivery.whole, .chunked])
  func `a picture that has changed comes in whole`(delivery: Delivery) throws {
    let other = noise(900_000, seed: 2)
    let changed = Resource(other, entityTag: "\"v2\"", delivery: delivery)
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .resource(changed)]))
    let fetcher = try Fetcher()
    let first = try fetcher.fetch(url)
    let transfer = try fetcher.fetch(url, from: first.beginning)
    #expect(transfer.body?.holds(other) == true)
    #expect(transfer.bytesReceived == Self.cut + other.count)
    #expect(transfer.isUseless)
    #expect(origin.counters("/a").requests == 2)
    fetcher.giveBack(first)
    fetcher.giveBack(transfer)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test func `a picture that has become nothing is not what was left of it`() throws {
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .empty]))
    let fetcher = try Fetcher()
    let first = try fetcher.fetch(url)
    let transfer = try fetcher.fetch(url, from: first.beginning)
    #expect(transfer.failure?.code == .notAnImage)
    #expect(transfer.isUseless)
    #expect(origin.counters("/a").requests == 2)
    fetcher.giveBack(first)
    #expect(fetcher.pool.heldBodyByteCount == 0)
  }

  @Test func `a changed picture that breaks off leaves its own beginning`() throws {
    let other = noise(900_000, seed: 2)
    let changed = Resource(other, entityTag: "\"v2\"", delivery: .cut(after: 100_000))
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .resource(changed)]))
    let fetcher = try Fetcher()
    let left = try #require(fetcher.fetch(url, from: beginning(fetcher)).beginning)
    #expect(
      left.mark
        == BodyMark(
          validator: "\"v2\"", completeByteCount: 900_000,
          receivedByteCount: Self.cut + 100_000))
    #expect(try left.content.bytes() == Array(other.prefix(100_000)))
  }

  @Test func `a changed picture is judged by its own first bytes`() throws {
    let refusal = Failure(stage: .decode, code: .notAnImage, detail: "refused")
    let other = noise(900_000, seed: 2)
    origin.serve(
      "/a",
      .sequence([
        resource(.cut(after: Self.cut)), .resource(Resource(other, entityTag: "\"v2\"")),
      ]))
    let screen = BodyScreen(byteCount: 1_000) { head in
      head == Array(other.prefix(1_000)) ? refusal : nil
    }
    let fetcher = try Fetcher(screen: screen)
    let transfer = try fetcher.fetch(url, from: beginning(fetcher))
    #expect(transfer.failure == refusal)
    #expect(transfer.isUseless)
  }

  @Test(arguments: [(503, false), (429, false), (404, true), (410, true)])
  func `an error that may pass leaves the beginning as it is`(status: Int, isUseless: Bool) throws {
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .status(status)]))
    let fetcher = try Fetcher()
    let transfer = try fetcher.fetch(url, from: beginning(fetcher))
    #expect(transfer.failure?.httpStatus == status)
    #expect(transfer.beginning == nil)
    #expect(transfer.isUseless == isUseless)
  }

  @Test func `a part that nobody asked for is refused as ever`() throws {
    origin.serve("/a", .response(response(.fromZero)))
    let transfer = try Fetcher().fetch(url)
    #expect(transfer.failure?.httpStatus == 206)
    #expect(transfer.beginning == nil)
  }
}

extension FinishedTransfer {
  fileprivate var beginning: BodyBeginning? {
    guard case .beginning(let beginning, _) = remains else { return nil }
    return beginning
  }

  fileprivate var chargeOfBeginning: BodyCharge? {
    guard case .beginning(_, let charge) = remains else { return nil }
    return charge
  }

  fileprivate var isUseless: Bool {
    if case .useless = remains { true } else { false }
  }
}

extension Fetcher {
  fileprivate func giveBack(_ transfer: FinishedTransfer) {
    if let charge = transfer.body?.charge ?? transfer.chargeOfBeginning {
      pool.releaseBody(charge)
    }
  }
}
