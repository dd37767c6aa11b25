import ImgModel
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// U14: nothing is looked up or fetched before the delay is over.
@Suite struct DelayTests {
  @Test(arguments: [false, true])
  func `a viewer is not looked up before its delay is over`(isStored: Bool) {
    let cluster = ClusterModel.started()
    if isStored { cluster.prestore([url(1)]) }
    let viewer = cluster.view(url(1), delay: .milliseconds(500))
    #expect(cluster.scheduler.deadline == cluster.now.instant + .milliseconds(500))
    cluster.advance(by: .milliseconds(499))
    cluster.handle(.timePassed)
    #expect(cluster.lookupStarts.isEmpty)
    cluster.advance(by: .milliseconds(1))
    #expect(cluster.lookupStarts == [url(1)])
    #expect(cluster.scheduler.deadline == nil)
    cluster.finishEverything()
    #expect(cluster.answers[viewer] == (isStored ? .cachedSample : .fetchedSample))
  }

  @Test(arguments: [false, true])
  func `a list is not looked up before its delay is over`(isStored: Bool) {
    let cluster = ClusterModel.started()
    if isStored { cluster.prestore([url(1), url(2)]) }
    let job = cluster.submit([url(1), url(2)], delay: .milliseconds(500))
    #expect(cluster.status(job)?.state == .scheduled)
    cluster.advance(by: .milliseconds(499))
    cluster.handle(.timePassed)
    #expect(cluster.lookupStarts.isEmpty)
    #expect(cluster.status(job)?.queued == 2)
    cluster.advance(by: .milliseconds(1))
    #expect(cluster.lookupStarts == [url(1), url(2)])
    cluster.finishEverything()
    #expect(cluster.counts(job)?.fromCache == (isStored ? 2 : 0))
    #expect(cluster.endedJobs[job]?.startedAt == cluster.now.wall)
  }

  @Test func `leaving within the delay costs nothing`() {
    let cluster = ClusterModel.started()
    let viewer = cluster.view(url(1), delay: .milliseconds(500))
    let job = cluster.submit([url(2)], delay: .milliseconds(500))
    cluster.advance(by: .milliseconds(200))
    cluster.leave(viewer)
    cluster.change(job, .cancel)
    #expect(cluster.scheduler.deadline == nil)
    #expect(cluster.scheduler.isIdle)
    cluster.advance(by: .seconds(1))
    cluster.handle(.timePassed)
    #expect(cluster.lookupStarts.isEmpty)
    #expect(cluster.endedJobs[job]?.counts.cancelled == 1)
    #expect(cluster.scheduler.discardedLateCount == 0)
  }

  @Test func `a viewer that moves on within the delay is superseded without a request`() {
    let cluster = ClusterModel.started()
    let first = cluster.view(url(1), name: "v", delay: .milliseconds(250))
    let second = cluster.view(url(2), name: "v", delay: .milliseconds(250))
    #expect(cluster.answers[first] == .cancelled)
    cluster.advance(by: .milliseconds(250))
    cluster.finishEverything()
    #expect(cluster.lookupStarts == [url(2)])
    #expect(cluster.answers[second] == .fetchedSample)
  }

  @Test func `what a delayed viewer waits for is begun for others at once`() {
    let cluster = ClusterModel.started()
    let delayed = cluster.view(url(1), delay: .milliseconds(500))
    let other = cluster.view(url(1))
    cluster.answerLookups()
    cluster.advance(by: .milliseconds(500))
    cluster.finishEverything()
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.answers[other] == .fetchedSample)
    #expect(cluster.answers[delayed] == .sharedSample)
  }

  @Test func `a delay that has passed before a restart is not waited for again`() {
    let cluster = ClusterModel.started()
    cluster.submit([url(1)], delay: .milliseconds(500))
    cluster.advance(by: .milliseconds(200))
    cluster.restart()
    #expect(cluster.scheduler.deadline == cluster.now.instant + .milliseconds(300))
    cluster.advance(by: .milliseconds(300))
    #expect(cluster.lookupStarts == [url(1)])
    cluster.restart()
    #expect(cluster.lookupStarts == [url(1), url(1)])
  }

  @Test func `a paused list does not start when its delay is over`() {
    let cluster = ClusterModel.started()
    let job = cluster.submit([url(1)], delay: .milliseconds(500))
    cluster.change(job, .pause)
    cluster.advance(by: .milliseconds(500))
    #expect(cluster.lookupStarts.isEmpty)
    cluster.change(job, .resume)
    #expect(cluster.lookupStarts == [url(1)])
  }

  @Test func `a delay is never longer than it was meant to be, however the clock is set`() {
    let cluster = ClusterModel.started()
    let job = cluster.submit([url(1)], delay: .seconds(1))
    cluster.setClock(by: .seconds(-2_000_000))
    cluster.restart()
    #expect(cluster.status(job)?.state == .scheduled)
    cluster.advance(by: .seconds(1))
    #expect(cluster.lookupCount == 1)
  }
}
