import ImgModel
import ImgStore
import ImgSystem
import ImgWire
import TestOrigin
import TestPictures
import Testing

@testable import ImgWorker

/// Pictures whose transfers break off, from one attempt to the next.
@Suite(.timeLimit(.minutes(20))) struct ResumedPictureTests {
  private static let tag = "\"v1\""
  private static let cut = 300_000
  private let origin = TestOrigin()
  private let picture: [UInt8]
  private let worker: RunningWorker
  private let url: ImageURL

  init() throws {
    picture = try PictureMaker.start().noise(seed: 1, width: 700, height: 480, format: .png)
    worker = try RunningWorker()
    url = try ImageURL(parsing: origin.baseURL + "/a")
  }

  private func resource(_ delivery: BodyDelivery = .whole) -> Behaviour {
    .resource(Resource(picture, contentType: "image/png", entityTag: Self.tag, delivery: delivery))
  }

  private func fetch(
    _ lease: LeaseID, keep: Keep = .thumbnail, bypassesStore: Bool = false
  ) throws -> Outcome? {
    try worker.outcome(of: .fetch(Batch(lease, url.text, keep: keep, bypassesStore: bypassesStore)))
  }

  private func partialByteCount() throws -> Int? {
    try worker.store.current().withPartial(of: PictureName(url), at: worker.now) { _, bytes in
      bytes.count
    }
  }

  @Test func `the next attempt requests only the rest, and each byte is counted once`() throws {
    #expect(picture.count > 1_000_000)
    origin.serve("/a", .sequence([resource(.cut(after: Self.cut)), resource()]))
    let failed = try fetch(1)
    #expect(failed?.failureCode == .truncatedBody)
    #expect(failed?.bytesFetched == Self.cut)
    // It is there when the failure is told.
    #expect(try partialByteCount() == Self.cut)
    let done = try fetch(2)
    #expect(done?.width == 64)
    #expect(done?.bytesFetched == picture.count - Self.cut)
    #expect(origin.counters("/a").ranges == ["bytes=300000-"])
    #expect(origin.counters("/a").bytesSent == picture.count)
    #expect(try partialByteCount() == nil)
    #expect(try worker.store.current().statistics(at: worker.now).partialCount == 0)
  }

  @Test(arguments: [true, false])
  func `a request that stores nothing leaves and continues no partial body`(isBypass: Bool) throws {
    origin.serve("/a", resource(.cut(after: Self.cut)))
    let keep = isBypass ? Keep.thumbnail : .none
    let failed = try fetch(1, keep: keep, bypassesStore: isBypass)
    #expect(failed?.failureCode == .truncatedBody)
    #expect(try partialByteCount() == nil)
    _ = try fetch(2)
    #expect(try partialByteCount() == Self.cut)
    _ = try fetch(3, keep: keep, bypassesStore: isBypass)
    #expect(origin.counters("/a").ranges.isEmpty)
  }

  @Test func `transfers that break off give back the memory of their bodies`() throws {
    origin.serve("/a", resource(.cut(after: Self.cut)))
    var limits = Limits()
    // Half of it is for bodies.
    limits.workerMemoryByteCount = 2 << 20
    let worker = try RunningWorker(limits: limits)
    for number in LeaseID.RawValue(1)...8 {
      let lease = LeaseID(rawValue: number)
      let batch = try Batch(lease, url.text, bypassesStore: number % 2 == 0)
      _ = try worker.outcome(of: .fetch(batch))
    }
    #expect(origin.counters("/a").requests == 8)
  }
}

/// Bodies that serve several leases, and those that are too long for memory.
@Suite(.timeLimit(.minutes(20))) struct SharedBodyTests {
  private let origin = TestOrigin()
  private let worker: RunningWorker

  init() throws {
    worker = try RunningWorker()
  }

  @Test func `a long picture serves several variants, and is kept byte by byte`() throws {
    let picture = try PictureMaker.start().noise(seed: 1, width: 1_400, height: 1_100, format: .png)
    #expect(picture.count > 4 << 20)
    origin.serve("/a", .body(picture, delivery: .hold))
    let url = try ImageURL(parsing: origin.baseURL + "/a")
    try worker.send(.fetch(Batch(1, url.text, width: 64, keep: .all)))
    try worker.send(.attach(Batch(2, url.text, width: 32)))
    try worker.waitUntilHandled()
    origin.release("/a")
    let said = try worker.messages(untilEnded: 2)
    #expect(said.outcomes[1]?.width == 64)
    #expect(said.outcomes[2]?.width == 32)
    #expect(said.outcomes[1]?.bytesFetched == picture.count)
    let original = try worker.original(of: url)
    #expect(original == picture)
  }

  @Test func `a body that served several leases gives back its memory`() throws {
    let picture = try PictureMaker.start().card(index: 1)
    origin.serve("/a", .body(picture))
    var limits = Limits()
    limits.workerMemoryByteCount = 2
    let worker = try RunningWorker(limits: limits)
    for first in stride(from: LeaseID.RawValue(1), to: 9, by: 2) {
      let leases = [first, first + 1].map { LeaseID(rawValue: $0) }
      try worker.send(.fetch(Batch(leases[0], origin.baseURL + "/a")))
      try worker.send(.attach(Batch(leases[1], origin.baseURL + "/a")))
      let said = try worker.messages(untilEnded: 2)
      #expect(said.outcomes[leases[0]]?.bytesFetched == picture.count)
    }
  }
}

/// What a worker finds out of the network when nothing answers a transfer.
@Suite(.timeLimit(.minutes(20))) struct NetworkCheckTests {
  private static let answer = "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n"
  private static let limits: Limits = {
    var limits = Limits()
    limits.connectTimeout = .milliseconds(300)
    return limits
  }()

  private let origin = TestOrigin()
  /// Accepts no connection.
  private let silent: RawListener

  init() throws {
    silent = try RawListener()
    try silent.fillQueue()
    origin.serve("/a", .status(404))
  }

  /// What the end of a transfer says.
  private func sign(of lease: LeaseID, _ url: String, _ worker: RunningWorker) throws
    -> NetworkSign?
  {
    try worker.send(.fetch(Batch(lease, url)))
    return try worker.messages(untilEnded: 1).signs[lease]
  }

  @Test func `a silent host shows nothing before another one has answered, and then itself`() throws
  {
    let worker = try RunningWorker(limits: Self.limits)
    #expect(try sign(of: 1, silent.baseURL, worker) == nil)
    #expect(try sign(of: 2, origin.baseURL + "/a", worker) == nil)
    #expect(try sign(of: 3, silent.baseURL, worker) == .answered)
  }

  @Test func `a host that is silent beside the one that answered last shows a network`() throws {
    let worker = try RunningWorker(limits: Self.limits)
    let last = try RawListener(host: 2)
    try worker.send(.fetch(Batch(1, last.baseURL)))
    while last.receivedRequestCount == 0 { try worker.waitUntilHandled() }
    last.say(Self.answer)
    _ = try worker.messages(untilEnded: 1)
    try last.fillQueue()
    let sign = try sign(of: 2, silent.baseURL, worker)
    #expect([.silent, .unrouted].contains(sign), "a machine of the tests may have no route")
  }

  @Test func `a proxy that cannot be reached is told as that, whatever answers without it`() throws
  {
    let proxy = try ForwardProxy(hosts: [:])
    proxy.stop()
    let proxies = ProxySettings(
      http: try ProxyURL(parsing: "http://127.0.0.1:\(proxy.port)"), https: nil,
      directHosts: ["127.0.0.1"])
    let worker = try RunningWorker(limits: Self.limits, proxies: proxies)
    #expect(try sign(of: 1, origin.baseURL + "/a", worker) == nil)
    #expect(try sign(of: 2, "http://127.0.0.2:\(origin.port)/a", worker) == .unrouted)
  }

  /// The order: the resolver, the name, the host that has answered last, the route.
  private static let findings: [(Bool, ResolverReply, Bool, Bool?, Bool, NetworkSign?)] = [
    (true, .silence, false, nil, true, .unrouted), (true, .silence, false, true, true, .unrouted),
    (true, .answer, true, nil, true, .answered), (true, .failure, true, false, true, .answered),
    (true, .answer, false, nil, true, .silent), (true, .failure, false, nil, false, .unrouted),
    (true, .failure, false, true, true, .answered), (false, .silence, false, nil, true, nil),
    (false, .silence, false, true, true, .answered),
    (false, .silence, false, false, true, .unrouted),
    (false, .failure, false, false, true, .silent), (false, .answer, false, false, true, .silent),
  ]

  @Test(arguments: findings)
  func `a resolver that says nothing shows a network that does not work`(
    isUnresolved: Bool, reply: ResolverReply, isNameAnswered: Bool, doesPeerAnswer: Bool?,
    hasRoute: Bool, sign: NetworkSign?
  ) {
    #expect(
      NetworkCheck.sign(
        isUnresolved: isUnresolved, reply: { reply }, isNameAnswered: { isNameAnswered },
        doesPeerAnswer: { doesPeerAnswer }, hasRoute: { hasRoute }) == sign)
  }
}
