import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Viewers of hosts that have asked for a pause.
@Suite struct RetryAfterTests {
  private static let host = "example.com"
  private static let tooMany = Failure(
    stage: .fetch, code: .httpStatus, httpStatus: 429, detail: "the origin answered 429")

  private func rest(
    _ cluster: ClusterModel, _ host: String = Self.host, seconds: Int64 = 30
  ) throws {
    cluster.rest(host, seconds: seconds, noticedBy: try #require(cluster.onlyWorker))
  }

  private func failure(_ viewer: ViewerID, in cluster: ClusterModel) throws -> Failure {
    let failure: Failure? =
      if case .failed(let failure, _) = cluster.answers[viewer] { failure } else { nil }
    return try #require(failure)
  }

  @Test func `a viewer for whom the pause is too long fails at once, and is told its end`() throws {
    let cluster = ClusterModel.started()
    try rest(cluster)
    let viewer = cluster.view(url(1), maximumRetryAfter: .seconds(2))
    cluster.answerLookups()
    let failure = try failure(viewer, in: cluster)
    #expect(failure.code == .httpStatus)
    #expect(failure.httpStatus == 503)
    #expect(failure.isRetryable)
    #expect(failure.retryAt == cluster.now.wall.advanced(by: .seconds(30)))
    #expect(cluster.fetchStarts.isEmpty)
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `a viewer waits for a pause that is not too long`() throws {
    let cluster = ClusterModel.started()
    try rest(cluster, seconds: 2)
    let viewer = cluster.view(url(1), maximumRetryAfter: .seconds(2))
    cluster.answerLookups()
    #expect(cluster.answers[viewer] == nil)
    cluster.advance(by: .seconds(2))
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == .fetchedSample)
  }

  @Test func `a hit is answered during the pause`() throws {
    let cluster = ClusterModel.started()
    cluster.prestore([url(1)])
    try rest(cluster)
    let viewer = cluster.view(url(1), maximumRetryAfter: .zero)
    cluster.answerLookups()
    #expect(cluster.answers[viewer]?.failureCode == nil)
    #expect(cluster.answers[viewer] != nil)
  }

  @Test func `viewers that wait already fail when the pause begins`() throws {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.submit([url(1)])
    cluster.answerLookups()
    let waiting = (2...4).map { cluster.view(url($0), maximumRetryAfter: .seconds(2)) }
    let patient = cluster.view(url(2))
    cluster.answerLookups()
    try rest(cluster)
    for viewer in waiting { #expect(try failure(viewer, in: cluster).retryAt != nil) }
    #expect(cluster.answers[patient] == nil)
    cluster.advance(by: .seconds(30))
    cluster.finishEverything()
    #expect(cluster.answers[patient] == .fetchedSample)
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `a line of the same picture goes on waiting`() throws {
    let cluster = ClusterModel.started()
    try rest(cluster)
    let job = cluster.submit([url(1)])
    cluster.answerLookups()
    let viewer = cluster.view(url(1), maximumRetryAfter: .seconds(2))
    cluster.answerLookups()
    #expect(try failure(viewer, in: cluster).retryAt != nil)
    #expect(cluster.counts(job)?.finished == 0)
    cluster.advance(by: .seconds(30))
    cluster.finishEverything()
    #expect(cluster.counts(job)?.done == 1)
    #expect(cluster.fetchStarts.count == 1)
  }

  @Test func `the viewer whose own response has asked for the pause is not tried again`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    let viewer = cluster.view(url(1), maximumRetryAfter: .seconds(2))
    cluster.answerLookups()
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.finish(fetch, of: worker, .failed(Self.tooMany, bytesFetched: 7), retryAfter: 60)
    #expect(try failure(viewer, in: cluster).retryAt != nil)
    guard case .failed(_, bytesFetched: 7) = cluster.answers[viewer] else {
      Issue.record("the bytes of its response are not reported")
      return
    }
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `the last attempt of a viewer that waits tells the end of the pause, too`() throws {
    let cluster = ClusterModel.started(attempts: 1)
    let viewer = cluster.view(url(1))
    cluster.answerLookups()
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.finish(fetch, of: worker, .failed(Self.tooMany), retryAfter: 60)
    #expect(try failure(viewer, in: cluster).httpStatus == 429)
    #expect(
      try failure(viewer, in: cluster).retryAt == cluster.now.wall.advanced(by: .seconds(60)))
  }

  @Test func `a viewer whose transfer is redirected to a host with a pause fails at once`() throws {
    let cluster = ClusterModel.started()
    let viewer = cluster.view(url(1), maximumRetryAfter: .seconds(2))
    cluster.answerLookups()
    try rest(cluster, "target.example", seconds: 60)
    cluster.redirect(url(1), to: "target.example")
    #expect(try failure(viewer, in: cluster).detail.hasPrefix("target.example"))
    cluster.finishEverything()
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `a viewer whose redirected transfer waits fails when the pause begins`() throws {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.view(url(1, host: "target.example"))
    cluster.answerLookups()
    let viewer = cluster.view(url(2), maximumRetryAfter: .seconds(2))
    let patient = cluster.view(url(2))
    cluster.answerLookups()
    cluster.redirect(url(2), to: "target.example")
    #expect(cluster.answers[viewer] == nil)
    try rest(cluster, "target.example", seconds: 60)
    #expect(try failure(viewer, in: cluster).retryAt != nil)
    #expect(cluster.answers[patient] == nil)
    cluster.advance(by: .seconds(60))
    cluster.finishEverything()
    #expect(cluster.answers[patient] == .fetchedSample)
  }

  @Test(arguments: [Variant.standard, .small])
  func `a viewer that joins a redirected transfer that waits fails at once`(
    variant: Variant
  ) throws {
    let cluster = ClusterModel.started()
    let patient = cluster.view(url(1))
    cluster.answerLookups()
    try rest(cluster, "target.example", seconds: 60)
    cluster.redirect(url(1), to: "target.example")
    let viewer = cluster.view(url(1), variant: variant, maximumRetryAfter: .seconds(2))
    cluster.answerLookups()
    #expect(try failure(viewer, in: cluster).retryAt != nil)
    cluster.advance(by: .seconds(60))
    cluster.finishEverything()
    #expect(cluster.answers[patient] == .fetchedSample)
    #expect(cluster.scheduler.isIdle)
  }

  @Test(arguments: [true, false])
  func `a stale thumbnail is served during a pause for an error of the origin`(
    pausesFirst: Bool
  ) throws {
    let cluster = ClusterModel.started(perHost: 1)
    cluster.prestore([url(2)])
    cluster.store.stale[url(2)] = false
    cluster.submit([url(1)])
    cluster.answerLookups()
    if pausesFirst { try rest(cluster) }
    let viewer = cluster.view(
      url(2), fetch: FetchOptions(cachePolicy: .byProtocol), maximumRetryAfter: .seconds(2))
    cluster.answerLookups()
    if !pausesFirst { try rest(cluster) }
    cluster.answerLookups()
    #expect(cluster.answers[viewer] == .cachedSample)
  }
}
