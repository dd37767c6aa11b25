import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Requests for the same URL and variant share one fetch.
@Suite struct SharingTests {
  @Test func `duplicates in one list share one fetch and count each`() throws {
    let cluster = ClusterModel.started()
    let job = cluster.submit([url(1), url(1), "HTTP://EXAMPLE.com/1#part"])
    cluster.finishEverything()
    #expect(cluster.fetchStarts == [url(1)])
    let counts = try #require(cluster.counts(job))
    #expect(counts.done == 3)
    #expect(counts.fromCache == 0)
    #expect(counts.bytesFetched == 50_000, "the origin sent the body once")
  }

  @Test func `two jobs share one fetch`() {
    let cluster = ClusterModel.started()
    let first = cluster.submit([url(1)])
    let second = cluster.submit([url(1)])
    #expect(cluster.status(second)?.running == 1)
    #expect(cluster.status(second)?.state == .running)
    cluster.finishEverything()
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.counts(first)?.done == 1)
    #expect(cluster.counts(second)?.done == 1)
    #expect(cluster.endedJobs[second]?.startedAt != nil)
  }

  @Test(arguments: ["lookup", "transfer", "decode"])
  func `a viewer joins a job's URL at whatever stage it is`(stage: String) {
    let cluster = ClusterModel.started()
    let job = cluster.submit([url(1)])
    if stage != "lookup" { cluster.answerLookups() }
    if stage == "decode" { cluster.transferred(url(1)) }
    let viewer = cluster.view(url(1))
    cluster.finishEverything()
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.answers[viewer] == .sharedSample)
    #expect(cluster.counts(job)?.bytesFetched == 50_000)
  }

  @Test func `another variant is another picture`() throws {
    let cluster = ClusterModel.started()
    cluster.view(url(1))
    cluster.view(url(1), variant: try Variant(width: 32, height: 32))
    cluster.answerLookups()
    #expect(cluster.fetching == [url(1), url(1)])
  }

  @Test func `a lenient request shares the fetch of a strict one, and has its own outcome`() {
    let cluster = ClusterModel.started()
    let lenient = cluster.view(url(1), isLenient: true)
    cluster.answerLookups()
    let strict = cluster.view(url(1))
    cluster.answerLookups()
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.fetching == [url(1), url(1)])
    cluster.transferred(url(1))
    // The later one.
    cluster.finish(url(1), .failure(.corruptImage))
    #expect(cluster.answers[strict]?.failureCode == .corruptImage)
    #expect(cluster.answers[lenient] == nil)
    cluster.finishEverything()
    #expect(cluster.answers[lenient] == .fetchedSample)
    #expect(cluster.fetchStarts == [url(1)])
  }

  @Test func `a failure reaches all`() {
    let cluster = ClusterModel.started()
    let job = cluster.submit([url(1), url(1)])
    let viewer = cluster.view(url(1))
    cluster.answerLookups()
    cluster.finish(url(1), .failure(.httpStatus))
    #expect(cluster.counts(job)?.failed == 2)
    #expect(cluster.answers[viewer]?.failureCode == .httpStatus)
  }

  @Test func `cancelling one job leaves the others`() {
    let cluster = ClusterModel.started()
    let first = cluster.submit([url(1)])
    let second = cluster.submit([url(1)])
    let viewer = cluster.view(url(1))
    cluster.answerLookups()
    cluster.change(first, .cancel)
    #expect(cluster.cancelledLeases.isEmpty)
    cluster.finishEverything()
    #expect(cluster.endedJobs[first]?.counts.cancelled == 1)
    #expect(cluster.counts(second)?.done == 1)
    #expect(cluster.counts(second)?.bytesFetched == 50_000, "now fetched for the second")
    #expect(cluster.answers[viewer] == .sharedSample)
  }

  @Test func `the last one to leave cancels the lease at the worker`() {
    let cluster = ClusterModel.started()
    let first = cluster.view(url(1))
    let second = cluster.view(url(1))
    cluster.answerLookups()
    cluster.leave(first)
    #expect(cluster.cancelledLeases.isEmpty)
    cluster.leave(second)
    #expect(cluster.cancelledLeases.count == 1)
    #expect(cluster.scheduler.transferCount == 1, "the place is free when the worker says so")
    cluster.finish(url(1), .cancelled)
    #expect(cluster.scheduler.transferCount == 0)
    #expect(cluster.scheduler.isIdle)
  }

  @Test func `a request after an abort starts again and gets a result`() {
    let cluster = ClusterModel.started()
    cluster.leave(cluster.view(url(1)))
    cluster.answerLookups()
    cluster.leave(cluster.view(url(1)))
    let viewer = cluster.view(url(1))
    cluster.answerLookups()
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == .fetchedSample)
    #expect(cluster.scheduler.work.isEmpty)
  }

  @Test func `a viewer of what is no URL is answered at once`() {
    let cluster = ClusterModel.started()
    let viewer = cluster.view("nonsense")
    #expect(cluster.answers[viewer]?.failureCode == .invalidURL)
    #expect(cluster.scheduler.isIdle)
  }
}
