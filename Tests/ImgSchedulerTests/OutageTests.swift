import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Viewers of hosts whose circuit breaker is open.
@Suite struct OutageTests {
  private static let host = "example.com"

  private static func answer(_ status: Int) -> Failure {
    Failure(
      stage: .fetch, code: .httpStatus, httpStatus: status, detail: "the origin answered \(status)")
  }

  private func failure(_ viewer: ViewerID, in cluster: ClusterModel) throws -> Failure {
    let failure: Failure? =
      if case .failed(let failure, _) = cluster.answers[viewer] { failure } else { nil }
    return try #require(failure)
  }

  private func failOften(_ cluster: ClusterModel, _ failure: Failure) {
    for number in 101...100 + HostHealth.failureMaximum {
      cluster.view(url(number))
      cluster.answerLookups()
      cluster.finish(url(number), .failed(failure))
    }
  }

  @Test func `failures of a proxy do not count against the hosts behind it`() {
    let cluster = ClusterModel.started(attempts: 3)
    failOften(cluster, Failure(stage: .fetch, code: .proxyFailure, detail: "it hung up"))
    cluster.view(url(1))
    cluster.answerLookups()
    #expect(cluster.fetchStarts.last == url(1))
    #expect(cluster.scheduler.transferQueue.hosts[Self.host]?.health.failureCount == 0)
  }

  /// Opens the breaker of the host: for 5 s, then for twice as long.
  private func failOften(_ cluster: ClusterModel) {
    failOften(cluster, Self.answer(500))
    #expect(cluster.scheduler.transferQueue.hosts[Self.host]?.health.isTripped == true)
    cluster.fetchStarts = []
  }

  @Test func `a viewer of a host that fails sends a probe, and fails with it at once`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    failOften(cluster)
    for count in 1...3 {
      let viewer = cluster.view(url(count), maximumRetryAfter: .seconds(2))
      cluster.answerLookups()
      #expect(cluster.fetchStarts.count == count)
      cluster.finish(url(count), .failed(Self.answer(502)))
      let failure = try failure(viewer, in: cluster)
      #expect(failure.httpStatus == 502)
      #expect(failure.isRetryable)
      #expect(failure.retryAt != nil)
      #expect(failure.detail.contains("fails again and again"))
      #expect(failure.detail.hasSuffix("its last failure: the origin answered 502"))
    }
  }

  @Test func `viewers wait for a probe that is under way, and have its result`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    failOften(cluster)
    let viewers = (1...3).map { cluster.view(url($0), maximumRetryAfter: .seconds(2)) }
    let patient = cluster.view(url(1))
    cluster.answerLookups()
    #expect(cluster.fetchStarts == [url(1)])
    for viewer in viewers { #expect(cluster.answers[viewer] == nil) }
    cluster.finish(url(1), .failed(Self.answer(502)))
    for viewer in viewers { #expect(try failure(viewer, in: cluster).httpStatus == 502) }
    #expect(cluster.answers[patient] == nil)
    cluster.advance(by: .seconds(300))
    cluster.finishEverything()
    #expect(cluster.answers[patient] == .fetchedSample)
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `a viewer waits for a host that fails, if that is not too long`() throws {
    let cluster = ClusterModel.started(attempts: 3)
    failOften(cluster)
    let viewer = cluster.view(url(1), maximumRetryAfter: .seconds(300))
    cluster.answerLookups()
    cluster.finish(url(1), .failed(Self.answer(502)))
    #expect(cluster.answers[viewer] == nil)
    cluster.advance(by: .seconds(300))
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == .fetchedSample)
  }
}
