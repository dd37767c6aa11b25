import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Viewers of hosts that have asked for a pause.
@Suite struct RetryAfterTests {
  private let cluster = ClusterModel.started()
  private static let host = "example.com"
  private static let tooMany = answer(429)

  private static func answer(_ status: Int) -> Failure {
    Failure(
      stage: .fetch, code: .httpStatus, httpStatus: status, detail: "the origin answered \(status)")
  }

  private func rest(
    _ cluster: ClusterModel, _ host: String = Self.host, seconds: Int64 = 30,
    httpStatus: Int = 503
  ) throws {
    cluster.rest(
      host, seconds: seconds, httpStatus: httpStatus,
      noticedBy: try #require(cluster.onlyWorker))
  }

  private func failure(_ viewer: ViewerID, in cluster: ClusterModel) throws -> Failure {
    let failure: Failure? =
      if case .failed(let failure, _) = cluster.answers[viewer] { failure } else { nil }
    return try #require(failure)
  }

  @Test func `a viewer for whom the pause is too long fails at once, and is told its end`() throws {
    try rest(cluster)
    let viewer = cluster.answeringLookups { $0.view(url(1), maximumRetryAfter: .seconds(2)) }
    let failure = try failure(viewer, in: cluster)
    #expect(failure.code == .httpStatus)
    #expect(failure.httpStatus == 503)
    #expect(failure.isRetryable)
    #expect(failure.retryAt == cluster.now.wall.advanced(by: .seconds(30)))
    #expect(cluster.fetchStarts.isEmpty)
    #expect(cluster.isIdle)
  }

  @Test(arguments: [(404, nil), (410, nil), (500, nil), (429, 429), (503, 503)] as [(Int, Int?)])
  func `a viewer is told the status of another picture only if it speaks of the host`(
    other: Int, expected: Int?
  ) throws {
    try rest(cluster, httpStatus: other)
    let viewer = cluster.answeringLookups { $0.view(url(1), maximumRetryAfter: .seconds(2)) }
    let failure = try failure(viewer, in: cluster)
    #expect(failure.httpStatus == expected)
    #expect(failure.isRetryable)
    let end = cluster.now.wall.advanced(by: .seconds(30))
    #expect(failure.retryAt == end)
    #expect(
      failure.detail
        == "example.com answered another request with \(other) and Retry-After, so this "
        + "URL was not requested; the pause ends at \(end), in 30 s")
  }

  @Test func `a picture that is missing keeps its status in the pause it asks for`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    let viewer = cluster.answeringLookups { $0.view(url(1), maximumRetryAfter: .seconds(2)) }
    try rest(cluster, httpStatus: 404)
    cluster.finish(url(1), .failed(Self.answer(404)))
    let failure = try failure(viewer, in: cluster)
    #expect(failure.httpStatus == 404)
    #expect(failure.retryAt == nil)
    #expect(!failure.isRetryable)
  }

  @Test func `a picture that is known to be missing is missing during a pause, too`() throws {
    cluster.answeringLookups { $0.view(url(1)) }
    cluster.finish(url(1), .failed(Self.answer(404)))
    try rest(cluster)
    let viewer = cluster.answeringLookups { $0.view(url(1), maximumRetryAfter: .seconds(2)) }
    let failure = try failure(viewer, in: cluster)
    #expect(failure.httpStatus == 404)
    #expect(failure.retryAt == nil)
  }

  @Test func `a viewer waits for a pause that is not too long`() throws {
    try rest(cluster, seconds: 2)
    let viewer = cluster.answeringLookups { $0.view(url(1), maximumRetryAfter: .seconds(2)) }
    #expect(cluster.answers[viewer] == nil)
    cluster.advance(by: .seconds(2))
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
  }

  @Test func `a pause is of one origin; other ports and schemes of its host are asked`() throws {
    try rest(cluster, seconds: 300)
    let others = ["http://example.com:81/1", "https://example.com/1", "http://a.example.com/1"]
    cluster.submit([url(1)] + others)
    let viewer = cluster.view("https://example.com/2", maximumRetryAfter: .zero)
    cluster.answerLookups()
    #expect(Set(cluster.fetching) == Set(others + ["https://example.com/2"]))
    #expect(cluster.answers[viewer] == nil)
    cluster.advance(by: .seconds(300))
    #expect(cluster.fetching.contains(url(1)))
  }

  @Test func `a viewer's request goes out after a minute, lines wait for the pause`() throws {
    try rest(cluster, seconds: 300)
    cluster.submit([url(1)])
    let refused = cluster.answeringLookups { $0.view(url(2), maximumRetryAfter: .seconds(2)) }
    #expect(
      try failure(refused, in: cluster).retryAt == cluster.now.wall.advanced(by: .seconds(60)))
    let patient = cluster.answeringLookups { $0.view(url(3)) }
    cluster.advance(by: .seconds(60))
    #expect(cluster.fetching == [url(3)])
    cluster.finish(url(3))
    #expect(cluster.answers[patient] == .fetchedSample)
    cluster.answeringLookups { $0.view(url(4), maximumRetryAfter: .zero) }
    #expect(cluster.fetching == [url(4)])
    cluster.advance(by: .seconds(240))
    #expect(cluster.fetching == [url(1), url(4)] || cluster.fetching == [url(4), url(1)])
  }

  @Test func `a hit is answered during the pause`() throws {
    cluster.prestore([url(1)])
    try rest(cluster)
    let viewer = cluster.answeringLookups { $0.view(url(1), maximumRetryAfter: .zero) }
    #expect(cluster.answers[viewer]?.failureCode == nil)
    #expect(cluster.answers[viewer] != nil)
  }

  @Test func `viewers that wait already fail when the pause begins`() throws {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.answeringLookups { $0.submit([url(1)]) }
    let waiting = (2...4).map { cluster.view(url($0), maximumRetryAfter: .seconds(2)) }
    let patient = cluster.answeringLookups { $0.view(url(2)) }
    try rest(cluster)
    for viewer in waiting { #expect(try failure(viewer, in: cluster).retryAt != nil) }
    #expect(cluster.answers[patient] == nil)
    cluster.advance(by: .seconds(30))
    #expect(cluster.finished().answers[patient] == .fetchedSample)
    #expect(cluster.isIdle)
  }

  @Test func `a line of the same picture goes on waiting`() throws {
    try rest(cluster)
    let job = cluster.answeringLookups { $0.submit([url(1)]) }
    let viewer = cluster.answeringLookups { $0.view(url(1), maximumRetryAfter: .seconds(2)) }
    #expect(try failure(viewer, in: cluster).retryAt != nil)
    #expect(cluster.counts(job)?.finished == 0)
    cluster.advance(by: .seconds(30))
    #expect(cluster.finished().counts(job)?.done == 1)
    #expect(cluster.fetchStarts.count == 1)
  }

  @Test func `lines that wait beside a viewer that fails take their turn`() throws {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.answeringLookups { $0.submit([url(100)]) }
    cluster.answeringLookups { $0.submit((1...3).map { url($0) }) }
    let viewer = cluster.answeringLookups { $0.view(url(11), maximumRetryAfter: .seconds(2)) }
    cluster.answeringLookups { $0.submit([url(11)]) }
    try rest(cluster)
    #expect(try failure(viewer, in: cluster).retryAt != nil)
    cluster.advance(by: .seconds(30))
    #expect(cluster.startsUntilIdle() == [1, 11, 2, 3])
  }

  @Test func `lines of a redirected transfer take their turn when its viewer fails`() throws {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.submit([url(100, host: "target.example")])
    cluster.answeringLookups { $0.submit([url(1, host: "a")]) }
    let viewer = cluster.view(url(2, host: "b"), maximumRetryAfter: .seconds(2))
    cluster.answerLookups()
    cluster.answeringLookups { $0.submit([url(2, host: "b")]) }
    cluster.redirect(url(1, host: "a"), to: "target.example")
    cluster.redirect(url(2, host: "b"), to: "target.example")
    try rest(cluster, "target.example")
    #expect(try failure(viewer, in: cluster).retryAt != nil)
    cluster.advance(by: .seconds(30))
    cluster.finish(url(100, host: "target.example"))
    #expect(cluster.redirectedURLs == [url(2, host: "b")])
  }

  @Test func `a viewer whose URL waits for its retry fails when the pause begins`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    let viewer = cluster.view(url(1), maximumRetryAfter: .seconds(2))
    let patient = cluster.answeringLookups { $0.view(url(1)) }
    cluster.finish(url(1), .failure(.timeout))
    #expect(cluster.answers[viewer] == nil)
    try rest(cluster, seconds: 60)
    #expect(try failure(viewer, in: cluster).retryAt != nil)
    #expect(cluster.answers[patient] == nil)
    cluster.advance(by: .seconds(60))
    #expect(cluster.finished().answers[patient] == .fetchedSample)
  }

  @Test func `a viewer whose URL waits for its retry may get a stale picture`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    cluster.prestore([url(1)])
    cluster.store.stale[url(1)] = false
    let viewer = cluster.view(
      url(1), fetch: FetchOptions(cachePolicy: .byProtocol), maximumRetryAfter: .seconds(2))
    cluster.answerLookups()
    cluster.finish(url(1), .failure(.timeout))
    try rest(cluster)
    cluster.answerLookups()
    guard case .done = cluster.answers[viewer] else {
      Issue.record("\(String(describing: cluster.answers[viewer]))")
      return
    }
  }

  @Test func `a viewer that has yet to join a redirected transfer fails in a pause`() throws {
    let cluster = ClusterModel.started(
      perHost: 1, credits: Credits(lookups: 256, leases: 2, decodeQueueTarget: 8))
    cluster.view(url(1, host: "target.example"))
    let patient = cluster.answeringLookups { $0.view(url(2)) }
    let viewer = cluster.view(url(2), variant: .small, maximumRetryAfter: .seconds(2))
    cluster.answerLookups()
    cluster.redirect(url(2), to: "target.example")
    #expect(cluster.answers[viewer] == nil)
    try rest(cluster, "target.example", seconds: 60)
    #expect(try failure(viewer, in: cluster).retryAt != nil)
    #expect(cluster.answers[patient] == nil)
    cluster.advance(by: .seconds(60))
    #expect(cluster.finished().answers[patient] == .fetchedSample)
  }

  @Test func `a viewer that fails while a later one of its name arrives has one answer`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    let earlier = cluster.view(url(1), name: "a", maximumRetryAfter: .seconds(2))
    cluster.answerLookups()
    cluster.finish(url(1), .failure(.timeout))
    try rest(cluster)
    cluster.view(url(1), name: "a")
    #expect(try failure(earlier, in: cluster).retryAt != nil)
  }

  @Test(arguments: [429, 500])
  func `the viewer whose response asked for the pause is not tried again`(status: Int) throws {
    let cluster = ClusterModel.started(attempts: 3)
    let viewer = cluster.answeringLookups { $0.view(url(1), maximumRetryAfter: .seconds(2)) }
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.finish(fetch, of: worker, .failed(Self.answer(status), bytesFetched: 7), retryAfter: 60)
    let failure = try failure(viewer, in: cluster)
    let end = cluster.now.wall.advanced(by: .seconds(60))
    #expect(failure.httpStatus == status)
    #expect(failure.retryAt == end)
    #expect(
      failure.detail
        == "example.com sent Retry-After, so this URL was not requested again; the pause ends at "
        + "\(end), in 60 s; the last attempt failed: the origin answered \(status)")
    guard case .failed(_, bytesFetched: 7) = cluster.answers[viewer] else {
      Issue.record("the bytes of its response are not reported")
      return
    }
    #expect(cluster.isIdle)
  }

  @Test func `the last attempt of a viewer that waits tells the end of the pause, too`() throws {
    let cluster = ClusterModel.started(attempts: 1)
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.finish(fetch, of: worker, .failed(Self.tooMany), retryAfter: 60)
    #expect(try failure(viewer, in: cluster).httpStatus == 429)
    #expect(try failure(viewer, in: cluster).retryAt == cluster.now.wall.advanced(by: .seconds(60)))
  }

  @Test(arguments: ["target.example", Self.host])
  func `the last attempt tells the pause of the host it failed at`(resting: String) throws {
    let cluster = ClusterModel.started(attempts: 1)
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    cluster.redirect(url(1), to: "target.example")
    try rest(cluster, resting, seconds: 60)
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.finish(fetch, of: worker, .failed(Self.tooMany), wasRedirected: true)
    let end = cluster.now.wall.advanced(by: .seconds(60))
    #expect(try failure(viewer, in: cluster).retryAt == (resting == Self.host ? nil : end))
  }

  @Test func `a viewer whose transfer is redirected to a host with a pause fails at once`() throws {
    let viewer = cluster.answeringLookups { $0.view(url(1), maximumRetryAfter: .seconds(2)) }
    try rest(cluster, "target.example", seconds: 60)
    cluster.redirect(url(1), to: "target.example")
    let start = "a redirect led to target.example, which answered another request with "
    #expect(try failure(viewer, in: cluster).detail.hasPrefix(start))
    #expect(cluster.finished().isIdle)
  }

  @Test func `a viewer whose redirected transfer waits fails when the pause begins`() throws {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.answeringLookups { $0.view(url(1, host: "target.example")) }
    let viewer = cluster.view(url(2), maximumRetryAfter: .seconds(2))
    let patient = cluster.answeringLookups { $0.view(url(2)) }
    cluster.redirect(url(2), to: "target.example")
    #expect(cluster.answers[viewer] == nil)
    try rest(cluster, "target.example", seconds: 60)
    #expect(try failure(viewer, in: cluster).retryAt != nil)
    #expect(cluster.answers[patient] == nil)
    cluster.advance(by: .seconds(60))
    #expect(cluster.finished().answers[patient] == .fetchedSample)
  }

  @Test(arguments: [Variant.standard, .small])
  func `a viewer that joins a waiting redirected transfer fails at once`(variant: Variant) throws {
    let patient = cluster.answeringLookups { $0.view(url(1)) }
    try rest(cluster, "target.example", seconds: 60)
    cluster.redirect(url(1), to: "target.example")
    let viewer = cluster.view(url(1), variant: variant, maximumRetryAfter: .seconds(2))
    cluster.answerLookups()
    #expect(try failure(viewer, in: cluster).retryAt != nil)
    cluster.advance(by: .seconds(60))
    #expect(cluster.finished().answers[patient] == .fetchedSample)
    #expect(cluster.isIdle)
  }

  @Test(arguments: [true, false])
  func `a stale thumbnail is served in a pause for an error`(pausesFirst: Bool) throws {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.prestore([url(2)])
    cluster.store.stale[url(2)] = false
    cluster.answeringLookups { $0.submit([url(1)]) }
    if pausesFirst { try rest(cluster) }
    let viewer = cluster.view(
      url(2), fetch: FetchOptions(cachePolicy: .byProtocol), maximumRetryAfter: .seconds(2))
    cluster.answerLookups()
    if !pausesFirst { try rest(cluster) }
    cluster.answerLookups()
    #expect(cluster.answers[viewer] == .cachedSample)
  }
}
