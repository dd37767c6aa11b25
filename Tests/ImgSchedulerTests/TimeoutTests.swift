import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Requests that wait for a limited time.
@Suite struct TimeoutTests {
  private let cluster = ClusterModel.started()

  @Test func `the time of a viewer ends its wait alone, and the fetch goes on for others`() throws {
    let brief = cluster.view(url(1), timeout: .seconds(1))
    let patient = cluster.answeringLookups { $0.view(url(1)) }
    let job = cluster.answeringLookups { $0.submit([url(1)], timeout: .seconds(60)) }
    cluster.advance(by: .milliseconds(999))
    #expect(cluster.answers.isEmpty)
    cluster.advance(by: .milliseconds(1))
    guard case .failed(let failure, _)? = cluster.answers[brief] else {
      Issue.record("it has not failed")
      return
    }
    #expect(failure.code == .timeout && failure.stage == .fetch)
    #expect(failure.isRetryable && failure.detail.contains("1.0 seconds"))
    #expect(cluster.cancelledLeases.isEmpty)
    cluster.finish(url(1))
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.answers[patient]?.failureCode == nil && cluster.answers[patient] != nil)
    #expect(cluster.counts(job)?.done == 1)
    #expect(cluster.scheduler.deadline == nil)
  }

  @Test func `the fetch of a picture is cancelled when the last request for it has timed out`() {
    let viewer = cluster.answeringLookups { $0.view(url(1), timeout: .seconds(1)) }
    cluster.advance(by: .seconds(1))
    #expect(cluster.answers[viewer]?.failureCode == .timeout)
    #expect(cluster.cancelledLeases.count == 1)
  }

  @Test func `the time of a viewer begins after its delay, and includes its wait for a slot`() {
    let narrow = ClusterModel.started(transfers: 1)
    narrow.answeringLookups { $0.submit([url(1)]) }
    let viewer = narrow.view(url(2), delay: .seconds(5), timeout: .seconds(1))
    narrow.advance(by: .seconds(5))
    narrow.answerLookups()
    narrow.advance(by: .milliseconds(999))
    #expect(narrow.answers.isEmpty)
    narrow.advance(by: .milliseconds(1))
    #expect(narrow.answers[viewer]?.failureCode == .timeout)
    #expect(narrow.finished().fetchStarts == [url(1)])
  }

  @Test func `the time of each line begins with its fetch`() {
    let narrow = ClusterModel.started(transfers: 1)
    let job = narrow.answeringLookups {
      $0.submit([url(1), url(2), url(3)], timeout: .seconds(1))
    }
    narrow.advance(by: .milliseconds(900))
    narrow.finish(url(1))
    narrow.advance(by: .milliseconds(900))
    #expect(narrow.fetching == [url(2)])
    narrow.advance(by: .milliseconds(100))
    #expect(narrow.outcome(of: 1, job)?.failureCode == .timeout)
    #expect(narrow.finished().counts(job)?.done == 2)
    #expect(narrow.counts(job)?.retryable == 1)
  }

  @Test func `a line that joins a fetch has its time from then on`() {
    cluster.answeringLookups { $0.submit([url(1)]) }
    cluster.advance(by: .seconds(10))
    let job = cluster.answeringLookups { $0.submit([url(1)], timeout: .seconds(1)) }
    cluster.advance(by: .milliseconds(999))
    #expect(cluster.outcome(of: 0, job) == nil)
    cluster.advance(by: .milliseconds(1))
    #expect(cluster.outcome(of: 0, job)?.failureCode == .timeout)
    #expect(cluster.fetching == [url(1)])
  }

  @Test func `the time of a line goes on while its fetch is repeated`() {
    let cluster = ClusterModel.started(attempts: 5, backoff: .seconds(4))
    let job = cluster.answeringLookups { $0.submit([url(1)], timeout: .milliseconds(10)) }
    cluster.finish(
      url(1), .failed(Failure(stage: .fetch, code: .truncatedBody, detail: "it broke off")))
    cluster.advance(by: .milliseconds(10))
    #expect(cluster.outcome(of: 0, job)?.failureCode == .timeout)
    #expect(cluster.endedJobs[job] != nil)
  }

  @Test func `an upload has a time, too`() {
    let viewer = cluster.upload(timeout: .seconds(1))
    #expect(cluster.answers.isEmpty)
    cluster.advance(by: .seconds(1))
    #expect(cluster.answers[viewer]?.failureCode == .timeout)
  }
}
