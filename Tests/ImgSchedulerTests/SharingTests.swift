import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Requests for the same URL and variant share one fetch.
@Suite struct SharingTests {
  private let cluster = ClusterModel.started()

  @Test func `duplicates in one list share one fetch and count each`() throws {
    let job = cluster.submit([url(1), url(1), "HTTP://EXAMPLE.com/1#part"])
    #expect(cluster.finished().fetchStarts == [url(1)])
    let counts = try #require(cluster.counts(job))
    #expect(counts.done == 3)
    #expect(counts.fromCache == 0)
    #expect(counts.bytesFetched == 50_000, "the origin sent the body once")
  }

  @Test func `two jobs share one fetch`() {
    let first = cluster.submit([url(1)])
    let second = cluster.submit([url(1)])
    #expect(cluster.status(second)?.running == 1)
    #expect(cluster.status(second)?.state == .running)
    #expect(cluster.finished().fetchStarts == [url(1)])
    #expect(cluster.counts(first)?.done == 1)
    #expect(cluster.counts(second)?.done == 1)
    #expect(cluster.endedJobs[second]?.startedAt != nil)
  }

  @Test(arguments: ["lookup", "transfer", "decode"])
  func `a viewer joins a job's URL at whatever stage it is`(stage: String) {
    let job = cluster.submit([url(1)])
    if stage != "lookup" { cluster.answerLookups() }
    if stage == "decode" { cluster.transferred(url(1)) }
    let viewer = cluster.view(url(1))
    #expect(cluster.finished().fetchStarts == [url(1)])
    #expect(cluster.answers[viewer] == .sharedSample)
    #expect(cluster.counts(job)?.bytesFetched == 50_000)
  }

  @Test func `a lenient request shares the fetch of a strict one, and has its own outcome`() {
    let lenient = cluster.answeringLookups { $0.view(url(1), isLenient: true) }
    let strict = cluster.answeringLookups { $0.view(url(1)) }
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.fetching == [url(1), url(1)])
    cluster.transferred(url(1))
    // The later one.
    cluster.finish(url(1), .failure(.corruptImage))
    #expect(cluster.answers[strict]?.failureCode == .corruptImage)
    #expect(cluster.answers[lenient] == nil)
    #expect(cluster.finished().answers[lenient] == .fetchedSample)
    #expect(cluster.fetchStarts == [url(1)])
  }

  @Test func `a failure reaches all`() {
    let job = cluster.submit([url(1), url(1)])
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    cluster.finish(url(1), .failure(.httpStatus))
    #expect(cluster.counts(job)?.failed == 2)
    #expect(cluster.answers[viewer]?.failureCode == .httpStatus)
  }

  @Test func `cancelling one job leaves the others`() {
    let first = cluster.submit([url(1)])
    let second = cluster.submit([url(1)])
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    cluster.change(first, .cancel)
    #expect(cluster.cancelledLeases.isEmpty)
    #expect(cluster.finished().endedJobs[first]?.counts.cancelled == 1)
    #expect(cluster.counts(second)?.done == 1)
    #expect(cluster.counts(second)?.bytesFetched == 50_000, "now fetched for the second")
    #expect(cluster.answers[viewer] == .sharedSample)
  }

  @Test func `the last one to leave cancels the lease at the worker`() {
    let first = cluster.view(url(1))
    let second = cluster.answeringLookups { $0.view(url(1)) }
    cluster.leave(first)
    #expect(cluster.cancelledLeases.isEmpty)
    cluster.leave(second)
    #expect(cluster.cancelledLeases.count == 1)
    #expect(cluster.scheduler.transferCount == 1, "the place is free when the worker says so")
    cluster.finish(url(1), .cancelled)
    #expect(cluster.scheduler.transferCount == 0)
    #expect(cluster.isIdle)
  }

  @Test func `a request after an abort starts again and gets a result`() {
    cluster.leave(cluster.view(url(1)))
    cluster.answerLookups()
    cluster.leave(cluster.view(url(1)))
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    #expect(cluster.finished().answers[viewer] == .fetchedSample)
    #expect(cluster.scheduler.work.isEmpty)
  }

  @Test func `a viewer of what is no URL is answered at once`() {
    let viewer = cluster.view("nonsense")
    #expect(cluster.answers[viewer]?.failureCode == .invalidURL)
    #expect(cluster.isIdle)
  }
}

/// The variants of a URL share its one transfer.
@Suite struct JoiningTests {
  private let variants: [Variant] = [.standard, .small, .medium]

  /// One viewer for each variant of URL 1, whose look-ups have missed.
  private func cluster(
    credits: Credits = Credits(lookups: 256, leases: 128, decodeQueueTarget: 8)
  ) -> (ClusterModel, viewers: [ViewerID]) {
    let cluster = ClusterModel.started(credits: credits)
    let viewers = variants.map { cluster.view(url(1), variant: $0) }
    cluster.answerLookups()
    return (cluster, viewers)
  }

  @Test func `variants share one transfer and one slot, and are decoded each`() {
    let (cluster, viewers) = cluster()
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.attachedCount == 2)
    #expect(cluster.scheduler.transferCount == 1)
    #expect(cluster.fetching.count == 3)
    cluster.transferred(url(1))
    #expect(cluster.scheduler.transferCount == 0)
    cluster.finishEverything()
    #expect(viewers.allSatisfy { cluster.answers[$0] == .fetchedSample })
    #expect(variants.allSatisfy { cluster.isStored(url(1), $0) })
    #expect(cluster.isIdle)
  }

  @Test func `two lists of two variants share one transfer a URL`() {
    let cluster = ClusterModel.started(transfers: 2, perHost: 1)
    let urls = (1...20).map { url($0 / 2, host: "host\($0 % 2)") }
    let jobs = [Variant.standard, .small].map { cluster.submit(urls, variant: $0) }
    #expect(cluster.finished().fetchStarts.sorted() == urls.sorted())
    #expect(cluster.attachedCount == 20)
    #expect(jobs.allSatisfy { cluster.counts($0)?.done == 20 })
  }

  @Test func `a request is attached while the worker holds the body, and takes no slot`() {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.answeringLookups { $0.view(url(1)) }
    cluster.transferred(url(1))
    let other = cluster.answeringLookups { $0.view(url(2)) }
    let late = cluster.answeringLookups { $0.view(url(1), variant: .small) }
    #expect(cluster.fetchStarts == [url(1), url(2)])
    #expect(cluster.attachedCount == 1)
    #expect(cluster.scheduler.transferCount == 1)
    cluster.finish(url(1), variant: .small)
    #expect(cluster.answers[late] == .fetchedSample)
    #expect(cluster.finished().answers[other] == .fetchedSample)
  }

  @Test func `a request after the body is gone has it fetched again`() throws {
    let cluster = ClusterModel.started()
    let first = cluster.answeringLookups { $0.view(url(1)) }
    cluster.transferred(url(1))
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    cluster.workers[worker]?.setState(.gone, of: fetch.transfer)
    let late = [Variant.small, .medium].map { cluster.view(url(1), variant: $0) }
    cluster.answerLookups()
    #expect(cluster.fetchStarts == [url(1), url(1)])
    #expect(cluster.scheduler.transferCount == 1)
    cluster.finish(fetch, of: worker, .fetchedSample)
    #expect(cluster.finished().fetchStarts.count == 2, "the second one is shared again")
    #expect(([first] + late).allSatisfy { cluster.answers[$0] == .fetchedSample })
    #expect(cluster.isIdle)
  }

  @Test func `a transfer that fails fails all variants`() throws {
    let (cluster, viewers) = cluster()
    let (worker, fetch) = try #require(cluster.fetch(of: url(1)))
    let leases = try #require(cluster.workers[worker]).fetches.filter {
      $0.transfer == fetch.transfer
    }
    for lease in leases { cluster.finish(lease, of: worker, .failure(.httpStatus)) }
    #expect(viewers.allSatisfy { cluster.answers[$0]?.failureCode == .httpStatus })
    #expect(cluster.fetchStarts == [url(1)])
    #expect(cluster.isIdle)
  }

  @Test func `a picture that cannot be decoded in one variant may be in another`() {
    let (cluster, viewers) = cluster()
    cluster.transferred(url(1))
    cluster.finish(url(1), variant: .small, .failure(.outOfMemory, stage: .decode))
    cluster.finishEverything()
    #expect(viewers.map { cluster.answers[$0]?.failureCode } == [nil, .outOfMemory, nil])
  }

  @Test func `cancelling the variant that began the transfer leaves the others`() {
    let (cluster, viewers) = cluster()
    cluster.leave(viewers[0])
    #expect(cluster.cancelledLeases == [cluster.fetch(of: url(1), variant: .standard)?.fetch.lease])
    cluster.finish(url(1), variant: .standard, .cancelled)
    #expect(cluster.scheduler.transferCount == 1)
    let newcomer = cluster.answeringLookups { $0.view(url(1)) }
    #expect(cluster.finished().fetchStarts == [url(1)])
    #expect(cluster.attachedCount == 3, "the newcomer is attached, too")
    #expect((viewers[1...] + [newcomer]).allSatisfy { cluster.answers[$0] == .fetchedSample })
    #expect(cluster.answers[viewers[0]] == nil)
  }

  @Test func `the last variant to leave aborts, and a later request starts again`() throws {
    let (cluster, viewers) = cluster()
    let (worker, _) = try #require(cluster.fetch(of: url(1)))
    viewers.forEach { cluster.leave($0) }
    #expect(cluster.cancelledLeases.count == 3)
    let aborted = try #require(cluster.workers[worker]).fetches
    let newcomer = cluster.answeringLookups { $0.view(url(1), variant: .small) }
    #expect(cluster.fetchStarts == [url(1), url(1)])
    #expect(cluster.attachedCount == 2)
    for lease in aborted { cluster.finish(lease, of: worker, .cancelled) }
    #expect(cluster.finished().answers[newcomer] == .fetchedSample)
    #expect(cluster.scheduler.discardedLateCount == 3)
    #expect(cluster.isIdle)
  }

  @Test func `an item that waits to be attached to an aborted transfer gets its own`() {
    let (cluster, viewers) = cluster(credits: Credits(lookups: 8, leases: 2, decodeQueueTarget: 8))
    #expect(cluster.attachedCount == 1, "the worker takes no third lease")
    let waiting = viewers[viewers.count - 1]
    for viewer in viewers where viewer != waiting { cluster.leave(viewer) }
    for lease in cluster.workers.values.flatMap(\.fetches) {
      guard let worker = cluster.onlyWorker else { continue }
      cluster.finish(lease, of: worker, .cancelled)
    }
    #expect(cluster.finished().fetchStarts == [url(1), url(1)])
    #expect(cluster.answers[waiting] == .fetchedSample)
  }

  @Test func `items wait while the worker takes no lease, and are attached when one ends`() {
    let (cluster, viewers) = cluster(credits: Credits(lookups: 8, leases: 2, decodeQueueTarget: 8))
    cluster.transferred(url(1))
    #expect(cluster.attachedCount == 1)
    #expect(cluster.scheduler.work.all.contains { $0.stage == .awaitingTransfer })
    cluster.finish(url(1))
    #expect(cluster.attachedCount == 2)
    #expect(cluster.finished().fetchStarts == [url(1)])
    #expect(viewers.allSatisfy { cluster.answers[$0] == .fetchedSample })
  }

  // MARK: - Deaths

  @Test func `crashes count per URL whatever the variant, and fail all of them`() {
    let (cluster, viewers) = cluster()
    for _ in 0..<Scheduler.lossMaximum {
      #expect(cluster.answers.isEmpty)
      cluster.endBackoffs()
      cluster.crash(fetching: url(1))
    }
    #expect(viewers.allSatisfy { cluster.answers[$0]?.failureCode == .internal })
    #expect(cluster.fetchStarts.count == Scheduler.lossMaximum)
    #expect(cluster.isIdle)
  }

  @Test func `a new request for a picture that has crashed begins with a clean record`() {
    let (cluster, _) = cluster()
    for _ in 0..<Scheduler.lossMaximum {
      cluster.endBackoffs()
      cluster.crash(fetching: url(1))
    }
    let again = cluster.view(url(1))
    cluster.endBackoffs()
    cluster.crash(fetching: url(1))
    #expect(cluster.answers[again] == nil)
    cluster.endBackoffs()
    #expect(cluster.finished().answers[again] == .fetchedSample)
  }

  @Test func `what an attached item's dead worker had stored does not count as from the cache`() {
    let cluster = ClusterModel.started()
    cluster.view(url(1))
    let job = cluster.answeringLookups { $0.submit([url(1)], variant: .small) }
    #expect(cluster.attachedCount == 1)
    cluster.store(url(1), variant: .small)
    for worker in cluster.workers.keys { cluster.exit(worker, .crashed("SIGSEGV")) }
    #expect(cluster.finished().counts(job)?.done == 1)
    #expect(cluster.counts(job)?.fromCache == 0)
  }

  @Test func `variants that one dead worker held count one loss, not one each`() {
    let (cluster, viewers) = cluster()
    for worker in cluster.workers.keys { cluster.exit(worker, .crashed("SIGSEGV")) }
    #expect(cluster.scheduler.fetches.sources.all.map(\.lossCount) == [1])
    cluster.finishEverything()
    #expect(viewers.allSatisfy { cluster.answers[$0] == .fetchedSample })
  }

  @Test func `items attached to a body on its way keep their worker from no transfer`() {
    let cluster = ClusterModel.started(transfers: 16)
    let variants = (1...40).compactMap { try? Variant(ImageVariant(width: $0, height: $0)) }
    for variant in variants { cluster.view(url(1), variant: variant) }
    cluster.answeringLookups { $0.submit(spreadURLs(2...10)) }
    #expect(cluster.fetchStarts == [url(1)] + spreadURLs(2...10))
    #expect(cluster.attachedCount == 39)
  }

  @Test func `an attached item that its worker learns of after the body waits for the decoder`() {
    let cluster = ClusterModel.started()
    cluster.answeringLookups { $0.view(url(1)) }
    cluster.isMailHeld = true
    cluster.transferred(url(1))
    cluster.isMailHeld = false
    let late = cluster.mail
    cluster.mail = []
    cluster.answeringLookups { $0.view(url(1), variant: .small) }
    for event in late { cluster.handle(event) }
    #expect(
      cluster.scheduler.work.all.allSatisfy { item in
        if case .decoding = item.stage { true } else { false }
      })
  }

  @Test func `items of paused jobs alone are not attached, however many they are`() {
    let cluster = ClusterModel.started()
    cluster.answeringLookups { $0.view(url(1)) }
    let jobs = (1...2).map { _ in cluster.submit([url(1)], variant: .small) }
    for job in jobs { cluster.change(job, .pause) }
    cluster.answerLookups()
    #expect(cluster.attachedCount == 0)
    for job in jobs { cluster.change(job, .resume) }
    cluster.finishEverything()
    #expect(jobs.allSatisfy { cluster.endedJobs[$0]?.counts.done == 1 })
  }
}
