import ImgModel
import ImgWire
import Testing

@testable import ClusterSimulation
@testable import ImgScheduler

/// Why jobs do not move.
@Suite struct WaitTests {
  private let cluster = ClusterModel.started()
  private static let busy = Outcome.failed(
    Failure(stage: .fetch, code: .httpStatus, httpStatus: 503, detail: "the origin answered 503"))

  private func wait(_ job: JobID, in cluster: ClusterModel) -> Wait? {
    cluster.scheduler.status(of: job, at: cluster.now.instant)?.wait
  }

  private func kind(_ job: JobID, in cluster: ClusterModel) -> Wait.Kind? {
    wait(job, in: cluster)?.kind
  }

  /// Lets pass what makes a wait worth telling.
  private func stall(_ cluster: ClusterModel) {
    cluster.advance(by: .seconds(3))
  }

  private func wall(_ seconds: Int64, in cluster: ClusterModel) -> WallTime {
    cluster.now.wall.advanced(by: .seconds(seconds))
  }

  private func failAll(in cluster: ClusterModel) {
    while let url = cluster.fetching.first {
      cluster.finish(url, Self.busy)
      cluster.answerLookups()
    }
  }

  @Test func `a job that has outcomes waits for nothing, and tells after two seconds without`() {
    let cluster = ClusterModel.started(perHost: 1)
    let job = cluster.answeringLookups { $0.submit((1...3).map { url($0) }) }
    cluster.advance(by: .seconds(2))
    #expect(wait(job, in: cluster) == nil)
    cluster.advance(by: .milliseconds(1))
    #expect(kind(job, in: cluster) == .transferring)
    cluster.finish(url(1))
    #expect(wait(job, in: cluster) == nil)
    cluster.finishEverything()
    #expect(wait(job, in: cluster) == nil)
  }

  @Test func `a job with several transfers tells how many run, and which is the first`() {
    let cluster = ClusterModel.started()
    let job = cluster.answeringLookups { $0.submit([url(1), url(1), url(2), url(3)]) }
    let other = cluster.answeringLookups { $0.submit([url(4)]) }
    stall(cluster)
    let wait = wait(job, in: cluster)
    #expect(wait?.kind == .transferring)
    #expect(wait?.detail == "3 transfers are running, the first from example.com")
    #expect(self.wait(other, in: cluster)?.detail == nil)
    cluster.finish(url(1))
    stall(cluster)
    #expect(self.wait(job, in: cluster)?.reason == wait?.reason)
  }

  @Test(arguments: [
    (TransferPhase.awaitingAnswer, "have not answered yet"),
    (.connecting, "are being established"), (.resolving, "are being looked up"),
  ])
  func `hosts at which a job's transfers are at the same are counted`(
    phase: TransferPhase, words: String
  ) throws {
    let cluster = ClusterModel.started()
    let job = cluster.answeringLookups { $0.submit((0..<12).map { url(1, host: "h\($0)") }) }
    let worker = try #require(cluster.onlyWorker)
    let ids = cluster.scheduler.fetches.transfers.all.keys.sorted()
    let phases = ids.map { PhasedTransfer($0, phase) }
    cluster.handle(.fromWorker(worker, .hostUpdates(HostUpdates(phases: phases))))
    stall(cluster)
    let wait = try #require(self.wait(job, in: cluster))
    let host = try #require(wait.host)
    #expect(wait.detail?.hasSuffix("\(host) and 11 other hosts \(words)") == true)
    #expect(wait.reason == Wait(wait.kind, host: "another", detail: "and others").reason)
    #expect(wait.reason != Wait(wait.kind, host: host).reason)
  }

  // MARK: - Workers

  @Test func `without a worker a job and the cluster say why, and when the next one starts`() {
    let cluster = ClusterModel(workers: 2)
    cluster.areWorkersReadyAtOnce = false
    cluster.handle(.began)
    let job = cluster.submit([url(1)])
    stall(cluster)
    #expect(kind(job, in: cluster) == .workerStarting)
    #expect(cluster.scheduler.clusterWait()?.kind == .workerStarting)
    for worker in cluster.workers.keys.sorted() {
      cluster.handle(.fromWorker(worker, .refused(reason: "imgworker is missing")))
      cluster.exit(worker, .crashed("could not be started"))
    }
    let wait = wait(job, in: cluster)
    #expect(wait?.kind == .noWorker)
    #expect(wait?.detail == "imgworker is missing")
    #expect(wait?.until == cluster.now.wall.advanced(by: .milliseconds(100)))
    #expect(cluster.scheduler.clusterWait() == wait)
  }

  @Test func `a worker that ends without a word is told by how it ended`() throws {
    let cluster = ClusterModel()
    cluster.areWorkersReadyAtOnce = false
    cluster.handle(.began)
    cluster.exit(try #require(cluster.onlyWorker), .crashed("exited with 127"))
    let wait = cluster.scheduler.clusterWait()
    #expect(wait?.detail == "a worker ended before it had answered: exited with 127")
  }

  @Test func `a worker that is ready and works ends the wait`() throws {
    cluster.exit(try #require(cluster.onlyWorker), .killed("SIGKILL"))
    #expect(cluster.scheduler.clusterWait()?.kind == .noWorker)
    cluster.advance(by: .seconds(1))
    #expect(cluster.scheduler.clusterWait() == nil)
  }

  // MARK: - Hosts

  @Test func `a host that fails is named, with its last answer and the next attempt`() {
    let cluster = ClusterModel.started(perHost: 2)
    let job = cluster.answeringLookups { $0.submit((1...20).map { url($0) }) }
    failAll(in: cluster)
    stall(cluster)
    let expected = Wait(
      .hostFailing, host: "example.com", detail: "the origin answered 503", code: .httpStatus,
      httpStatus: 503,
      urls: 9, until: wall(2, in: cluster))
    #expect(wait(job, in: cluster) == expected)
    #expect(cluster.scheduler.waitingHosts(at: cluster.now.instant).named == [expected])
    // It is being asked once.
    cluster.advance(by: .seconds(2))
    #expect(kind(job, in: cluster) == .transferring)
    let hosts = cluster.scheduler.waitingHosts(at: cluster.now.instant).named
    #expect(hosts.map(\.kind) == [.hostFailing])
    #expect(hosts.first?.until == nil)
  }

  @Test func `what limits of bandwidth hold says so, and not that the host is full`() throws {
    let cluster = ClusterModel.started(perHost: 2)
    cluster.changeLimits(LimitChange(bytesPerSecond: 1_024))
    let job = cluster.answeringLookups { $0.submit((1...5).map { url($0) }) }
    for number in [6, 7] { cluster.answeringLookups { $0.view(url(number)) } }
    stall(cluster)
    #expect(kind(job, in: cluster) == .transferring)
    let worker = try #require(cluster.onlyWorker)
    let transfer = try #require(cluster.scheduler.fetches.transfers.all.keys.first)
    let held = HostUpdates(held: [HeldTransfer(transfer, for: .seconds(1))])
    cluster.handle(.fromWorker(worker, .hostUpdates(held)))
    #expect(kind(job, in: cluster) == .bandwidth)
    #expect(wait(job, in: cluster)?.detail == "--bytes-per-second")
    let hosts = cluster.scheduler.waitingHosts(at: cluster.now.instant).named
    #expect(hosts.map(\.kind) == [.bandwidth])
    // Nothing was held for a while: the origin is slow.
    stall(cluster)
    #expect(kind(job, in: cluster) == .transferring)
  }

  @Test func `limits of bandwidth are told while jobs proceed, and while no host is full`() throws {
    let cluster = ClusterModel.started(transfers: 2)
    cluster.changeLimits(LimitChange(bytesPerSecond: 1_024))
    let job = cluster.answeringLookups { $0.submit((1...9).map { url($0) }) }
    stall(cluster)
    let worker = try #require(cluster.onlyWorker)
    let transfer = try #require(cluster.scheduler.fetches.transfers.all.keys.max())
    cluster.finish(try #require(cluster.fetching.first))
    #expect(wait(job, in: cluster) == nil)
    let held = HostUpdates(held: [HeldTransfer(transfer, for: .seconds(1))])
    cluster.handle(.fromWorker(worker, .hostUpdates(held)))
    let expected = Wait(.bandwidth, host: "example.com", detail: "--bytes-per-second")
    #expect(wait(job, in: cluster) == expected)
  }

  @Test func `Retry-After is told with its time, and other hosts are counted`() throws {
    let worker = try #require(cluster.onlyWorker)
    cluster.rest("a", seconds: 60, noticedBy: worker)
    cluster.rest("b", seconds: 30, noticedBy: worker)
    let job = cluster.submit([url(1, host: "a"), url(2, host: "a"), url(1, host: "b")])
    cluster.answerLookups()
    stall(cluster)
    #expect(
      wait(job, in: cluster)
        == Wait(.retryAfter, host: "b", urls: 1, moreHosts: 1, until: wall(27, in: cluster)))
    let hosts = cluster.scheduler.waitingHosts(at: cluster.now.instant).named
    #expect(hosts.map(\.host) == ["a", "b"])
    #expect(hosts.map(\.urls) == [2, 1])
  }

  @Test func `the cluster names at most twenty hosts, those with most URLs`() throws {
    for number in 1...30 {
      cluster.rest("h\(number)", seconds: 60, noticedBy: try #require(cluster.onlyWorker))
      cluster.submit((1...(number > 25 ? 2 : 1)).map { url($0, host: "h\(number)") })
    }
    cluster.answerLookups()
    let (hosts, otherCount) = cluster.scheduler.waitingHosts()
    #expect(hosts.count == 20 && otherCount == 10)
    #expect(Set(hosts.prefix(5).map(\.host)) == Set((26...30).map { "h\($0)" }))
  }

  @Test func `the rate of a host is told with the next token`() {
    let cluster = ClusterModel.started(ratePerMinute: 1)
    let job = cluster.answeringLookups { $0.submit([url(1), url(2)]) }
    cluster.finish(url(1))
    stall(cluster)
    #expect(
      wait(job, in: cluster)
        == Wait(.hostRate, host: "example.com", urls: 1, until: wall(57, in: cluster)))
  }

  @Test func `a host whose transfers are all another job's is full`() {
    let cluster = ClusterModel.started(perHost: 1)
    let first = cluster.submit([url(1)])
    let second = cluster.answeringLookups { $0.submit([url(2)]) }
    stall(cluster)
    #expect(kind(first, in: cluster) == .transferring)
    #expect(wait(second, in: cluster) == Wait(.hostFull, host: "example.com", urls: 1))
  }

  @Test func `a robots.txt that is being fetched is reported to its job and to waiting ones`() {
    let polite = FetchOptions(respectsRobots: true)
    let first = cluster.submit([url(1)], fetch: polite)
    let second = cluster.answeringLookups { $0.submit([url(2)], fetch: polite) }
    stall(cluster)
    #expect(
      wait(first, in: cluster)
        == Wait(.robots, host: "example.com", since: wall(-3, in: cluster)))
    #expect(kind(second, in: cluster) == .robots)
  }

  @Test func `a pause before a retry is told with the attempt that comes`() throws {
    let cluster = ClusterModel.started(attempts: 3, backoff: .seconds(3_600))
    let job = cluster.answeringLookups { $0.submit([url(1)]) }
    cluster.finish(url(1), Self.busy)
    let until = try #require(cluster.scheduler.fetches.sources.nextRetry)
    try #require(until > cluster.now.instant + .seconds(3))
    stall(cluster)
    let wait = wait(job, in: cluster)
    #expect(wait?.kind == .backoff)
    #expect(wait?.host == "example.com")
    #expect(wait?.httpStatus == 503)
    #expect(wait?.attempt == 2)
    #expect(wait?.until == cluster.scheduler.timeline.wall(until))
  }

  @Test func `a pause after a failure that was no attempt has its reason`() throws {
    let cluster = ClusterModel.started(perHost: 1, attempts: 3, backoff: .seconds(3_600))
    let job = cluster.answeringLookups { $0.submit([url(1), url(2)]) }
    cluster.transferred(url(1))
    cluster.finish(url(1))
    let refused = Failure(stage: .fetch, code: .connectFailure, detail: "refused")
    cluster.finish(url(2), .failed(refused), sign: .answered)
    stall(cluster)
    let wait = wait(job, in: cluster)
    #expect(wait?.kind == .backoff && wait?.attempt == 1)
    #expect(wait?.detail == "refused")
  }

  @Test func `a host that refuses connections is named as such while its rate holds requests`() {
    let cluster = ClusterModel.started(ratePerMinute: 6, attempts: 3)
    let job = cluster.answeringLookups { $0.submit((1...9).map { url($0) }) }
    let refused = Failure(stage: .fetch, code: .connectFailure, detail: "refused")
    cluster.finish(url(1), .failed(refused), sign: .answered)
    stall(cluster)
    let wait = wait(job, in: cluster)
    #expect(wait?.kind == .hostRate && wait?.code == .connectFailure)
    #expect(wait?.detail == "refused")
  }

  // MARK: - Capacity

  @Test func `without a free slot a job waits for one`() {
    let cluster = ClusterModel.started(transfers: 1)
    cluster.submit([url(1, host: "a")])
    let second = cluster.answeringLookups { $0.submit([url(1, host: "b")]) }
    stall(cluster)
    #expect(kind(second, in: cluster) == .transfersFull)
  }

  @Test func `without a worker that takes more a job waits for one`() {
    let cluster = ClusterModel.started(
      credits: Credits(lookups: 8, leases: 1, decodeQueueTarget: 1))
    cluster.submit([url(1, host: "a")])
    let second = cluster.answeringLookups { $0.submit([url(1, host: "b")]) }
    stall(cluster)
    #expect(kind(second, in: cluster) == .workersBusy)
  }

  // MARK: - Work under way

  @Test func `what is under way for long is named`() {
    let job = cluster.submit([url(1)])
    stall(cluster)
    #expect(kind(job, in: cluster) == .lookingUp)
    cluster.answerLookups()
    stall(cluster)
    #expect(
      wait(job, in: cluster)
        == Wait(.transferring, host: "example.com", since: wall(-3, in: cluster)))
    cluster.transferred(url(1))
    stall(cluster)
    #expect(
      wait(job, in: cluster)
        == Wait(.decoding, host: "example.com", since: wall(-3, in: cluster)))
    cluster.isJournalHeld = true
    cluster.finish(url(1))
    stall(cluster)
    #expect(kind(job, in: cluster) == .recording)
    let status = cluster.scheduler.status(
      of: job, at: cluster.now.instant, journalError: "the disk is full")
    #expect(status?.wait == Wait(.journal, detail: "the disk is full"))
  }

  @Test func `a list that is not read yet is told`() {
    cluster.isJournalHeld = true
    let job = cluster.submit([url(1)])
    stall(cluster)
    #expect(kind(job, in: cluster) == .reading)
  }

  // MARK: - What a person has asked for

  @Test func `a delay and a pause are told`() {
    let delayed = cluster.submit([url(1)], delay: .seconds(10))
    let paused = cluster.submit([url(2)])
    cluster.change(paused, .pause)
    cluster.finishEverything()
    stall(cluster)
    #expect(wait(delayed, in: cluster) == Wait(.delayed, until: wall(7, in: cluster)))
    #expect(wait(paused, in: cluster) == Wait(.paused))
    cluster.change(paused, .resume)
    #expect(wait(paused, in: cluster) == nil)
  }

  @Test func `a coordinator that leaves begins nothing more`() {
    let job = cluster.answeringLookups { $0.submit([url(1), url(2)]) }
    cluster.submit([url(3)])
    cluster.handle(.drainRequested)
    #expect(cluster.scheduler.clusterWait()?.kind == .draining)
    #expect(wait(job, in: cluster) == nil)
  }

  // MARK: - Viewers

  @Test func `a get that waits is told why after two seconds, and when that changes`() throws {
    cluster.rest("example.com", seconds: 30, noticedBy: try #require(cluster.onlyWorker))
    let until = wall(30, in: cluster)
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    cluster.advance(by: .milliseconds(1_999))
    #expect(cluster.waits[viewer] == nil)
    cluster.advance(by: .milliseconds(1))
    let expected = Wait(.retryAfter, host: "example.com", urls: 1, until: until)
    #expect(cluster.waits[viewer] == [expected])
    cluster.advance(by: .seconds(5))
    #expect(cluster.waits[viewer] == [expected])
    cluster.advance(by: .seconds(23))
    #expect(cluster.fetching == [url(1)])
    cluster.advance(by: .seconds(1))
    #expect(cluster.waits[viewer]?.map(\.kind) == [.retryAfter, .transferring])
    cluster.finishEverything()
    cluster.advance(by: .seconds(9))
    #expect(cluster.waits[viewer]?.count == 2)
    #expect(!cluster.scheduler.viewers.isAnyReportPending)
  }

  @Test func `a get is told of a decode when that has lasted a second`() {
    let viewer = cluster.answeringLookups { $0.view(url(1)) }
    cluster.advance(by: .milliseconds(1_995))
    cluster.transferred(url(1))
    cluster.advance(by: .milliseconds(5))
    #expect(cluster.waits[viewer] == nil)
    cluster.advance(by: .seconds(1))
    #expect(cluster.waits[viewer]?.map(\.kind) == [.decoding])
  }

  // MARK: - Times

  @Test func `a moment has one time, until the clock on the wall is set`() {
    let start = Moment(instant: .now, wall: WallTime(rawValue: 1_000_000))
    var timeline = Timeline(at: start)
    let later = start.instant + .seconds(60)
    #expect(timeline.wall(later) == WallTime(rawValue: 1_060_000))
    timeline.update(
      Moment(instant: start.instant + .seconds(1), wall: WallTime(rawValue: 1_001_500)))
    #expect(timeline.wall(later) == WallTime(rawValue: 1_060_000))
    timeline.update(
      Moment(instant: start.instant + .seconds(1), wall: WallTime(rawValue: 2_001_000)))
    #expect(timeline.wall(later) == WallTime(rawValue: 2_060_000))
  }
}
