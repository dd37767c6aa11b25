import ImgModel
import ImgSystem
import ImgWire
import TestOrigin
import Testing

@testable import ImgWorker

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
