import ImgFetch
import ImgModel
import TestOrigin
import Testing

/// Transfers that request only the rest of a picture.
@Suite(.timeLimit(.minutes(20))) struct ResumeTests: ResumableDownload {
  let origin: TestOrigin
  let picture = noise(length)

  init() throws {
    origin = try TestOrigin()
  }

  @Test(arguments: [true, false])
  func `only the rest is requested, and every byte is sent and counted once`(
    declaresLength: Bool
  ) throws {
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

  @Test func `a rest that breaks off is resumed again`() throws {
    origin.serve(
      "/a",
      .sequence([resource(.cut(after: Self.cut)), resource(.cut(after: 200_000)), resource()])
    )
    let fetcher = try Fetcher()
    let second = try fetcher.fetch(url, resuming: partialBody(fetcher))
    let left = try #require(second.partialBody)
    #expect(left.resumeState.receivedByteCount == 500_000)
    #expect(try left.content.bytes() == Array(picture.prefix(500_000)))
    #expect(try fetcher.fetch(url, resuming: left).body?.holds(picture) == true)
    #expect(origin.counters("/a").ranges == ["bytes=300000-", "bytes=500000-"])
    #expect(origin.counters("/a").bytesSent == picture.count)
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

  @Test func `behind a redirect the rest is requested at its end`() throws {
    origin.serve("/r", .redirect(to: "/a"))
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), resource()]))
    let fetcher = try Fetcher()
    let left = try #require(fetcher.fetch(origin.baseURL + "/r").partialBody)
    #expect(try fetcher.fetch(origin.baseURL + "/r", resuming: left).body?.holds(picture) == true)
    #expect(origin.counters("/a").ranges == ["bytes=300000-"])
    #expect(origin.counters("/a").bytesSent == picture.count)
    #expect(origin.counters("/r").ranges.isEmpty)
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

  @Test func `a 304 to a range request restarts the transfer`() throws {
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), .status(304), resource()]))
    let fetcher = try Fetcher()
    let transfer = try fetcher.fetch(url, resuming: partialBody(fetcher))
    #expect(transfer.body?.holds(picture) == true)
    #expect(transfer.isObsolete)
    #expect(origin.counters("/a").ranges == ["bytes=300000-"])
    #expect(origin.counters("/a").requests == 3)
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

  @Test func `64 KiB are enough, also for a picture that only has a date`() throws {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    let resource = Resource(picture, lastModified: date)
    var broken = resource
    broken.delivery = .cut(after: 65_536)
    origin.serve("/a", .sequence([.resource(broken), .resource(resource)]))
    let fetcher = try Fetcher()
    let left = try partialBody(fetcher)
    #expect(left.resumeState.validator == date)
    let transfer = try fetcher.fetch(url, resuming: left)
    #expect(transfer.body?.holds(picture) == true)
    #expect(origin.counters("/a").headersSeen["if-range"] == date)
    #expect(origin.counters("/a").ranges == ["bytes=65536-"])
    #expect(origin.counters("/a").bytesSent == picture.count)
  }
}
