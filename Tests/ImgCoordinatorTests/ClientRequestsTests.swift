import ImgModel
import ImgScheduler
import ImgStore
import ImgWire
import Testing

@testable import ImgCoordinator

/// Requests about jobs: their status, watches and changes.
@Suite(.timeLimit(.minutes(20))) struct JobRequestsTests {
  private let parts: CoordinatorParts
  private let client: TestClient

  init() throws {
    parts = try CoordinatorParts()
    client = try parts.greetedClient()
  }

  private func change(_ job: JobID, _ change: ImageJobChange) throws -> CoordinatorReply? {
    try client.ask(.change(client.newRequest(), change, of: job))
  }

  @Test func `a job that does not exist is unknown to every request`() throws {
    let job = JobID(rawValue: 9)
    let requests: [(RequestID) -> ClientMessage] = [
      { .job($0, job, isWatching: false) },
      { .results($0, ResultsRequest(job: job, from: 0, isFailedOnly: false)) },
      { .change($0, .pause, of: job) },
    ]
    for request in requests {
      let refusal = try client.ask(request(client.newRequest()))?.refusal
      #expect(refusal?.code == .unknownJob)
      #expect(refusal?.message == "there is no job 9")
    }
  }

  @Test func `a change is answered with the job once it is durable`() throws {
    let job = try #require(try client.submit(["http://h/1"]))
    #expect(try change(job, .pause)?.job?.state == .paused)
    #expect(try parts.journal.stored.job(job)?.state == .paused)
    #expect(try change(job, .resume)?.job?.state == .queued)
  }

  @Test func `a change that the job's state forbids is refused`() throws {
    let job = try #require(try client.submit(["http://h/1"]))
    let refusal = try change(job, .resume)?.refusal
    #expect(refusal?.code == .wrongState)
    #expect(refusal?.message == "job \(job) is queued; only a paused job can be resumed")
  }

  @Test func `a job takes one change at a time`() throws {
    let job = try #require(try client.submit(["http://h/1"]))
    let other = try parts.greetedClient()
    for client in [client, other] {
      try client.send(.change(client.newRequest(), .pause, of: job))
    }
    let replies = [try client.next(), try other.next()]
    let refusals = replies.compactMap(\.?.refusal)
    #expect(replies.compactMap(\.?.job).map(\.state) == [.paused])
    #expect(refusals.map(\.message) == ["job \(job) is being changed already; ask again"])
  }

  @Test func `a watch sends the state at once and the end, then it is over`() throws {
    let job = try #require(try client.submit(["http://h/1"]))
    let watcher = try parts.greetedClient()
    let id = watcher.newRequest()
    let first = try watcher.ask(.job(id, job, isWatching: true))
    #expect(first?.job?.hasEnded == false)
    let again = try watcher.ask(.job(id, job, isWatching: true))
    #expect(again?.refusal?.message == "a request of this number waits already")
    #expect(parts.requests.jobs.hasWatches)
    #expect(try change(job, .cancel)?.job?.state == .cancelled)
    var last = try watcher.next()?.job
    while last?.hasEnded == false { last = try watcher.next()?.job }
    #expect(last?.state == .cancelled)
    #expect(!parts.requests.jobs.hasWatches)
  }

  @Test func `a client that detaches from a watch is sent no more of the job`() throws {
    let job = try #require(try client.submit(["http://h/1"]))
    let watcher = try parts.greetedClient()
    let id = watcher.newRequest()
    _ = try watcher.ask(.job(id, job, isWatching: true))
    let reply = try watcher.ask(.detach(id))
    #expect(reply == .detached(id))
    #expect(!parts.requests.jobs.hasWatches)
    // Neither a second detach nor the change of the job is told.
    try watcher.send(.detach(id))
    #expect(try change(job, .cancel)?.job?.state == .cancelled)
    let other = watcher.newRequest()
    let status = try watcher.ask(.job(other, job, isWatching: false))
    #expect(status?.job?.state == .cancelled)
  }

  /// As the loop does it.
  private func updateWatches() {
    parts.requests.jobs.updateWatches()
    parts.performEffects()
  }

  @Test func `all watches of a job are sent its newest status, and only a change of it`() throws {
    let job = try #require(try client.submit(["http://h/1"]))
    let watchers = [try parts.greetedClient(), try parts.greetedClient()]
    for watcher in watchers {
      let id = watcher.newRequest()
      let status = try watcher.ask(.job(id, job, isWatching: true))?.job
      #expect(status?.state != .paused)
    }
    _ = try change(job, .pause)
    updateWatches()
    for watcher in watchers { #expect(try watcher.next()?.job?.state == .paused) }
    updateWatches()
    _ = try change(job, .resume)
    updateWatches()
    for watcher in watchers { #expect(try watcher.next()?.job?.state != .paused) }
  }
}

@Suite struct PendingChangesTests {
  private let job = JobID(rawValue: 1)

  private var change: PendingChanges.Change {
    PendingChanges.Change(
      requester: Requester(client: ClientID(rawValue: 1), request: RequestID(rawValue: 1)),
      status: ImageJob(.damaged(job)))
  }

  @Test func `a job's change is pending until it is removed`() {
    var changes = PendingChanges()
    #expect(!changes.contains(job))
    changes.add(change, of: job)
    #expect(changes.contains(job))
    #expect(!changes.contains(JobID(rawValue: 2)))
    #expect(changes.remove(job)?.requester == change.requester)
    #expect(!changes.contains(job))
    #expect(changes.remove(job) == nil)
  }

  @Test func `a second change of a job is a bug of the caller`() async {
    await #expect(processExitsWith: .failure) {
      let job = JobID(rawValue: 1)
      let change = PendingChanges.Change(requester: nil, status: ImageJob(.damaged(job)))
      var changes = PendingChanges()
      changes.add(change, of: job)
      changes.add(change, of: job)
    }
  }
}

/// Lists that clients send.
@Suite(.timeLimit(.minutes(20))) struct SubmissionsTests {
  private let parts: CoordinatorParts

  init() throws {
    parts = try CoordinatorParts()
  }

  @Test func `a list becomes a job once its last part is durable`() throws {
    let client = try parts.greetedClient()
    let first = try #require(try client.submit(["no URL", "no URL"]))
    let record = try #require(try parts.journal.stored.job(first))
    #expect(record.counts.total == 2)
    #expect(parts.scheduler.state.status(of: first) != nil)
    let second = try #require(try client.submit(["no URL"]))
    #expect(second > first)
  }

  @Test func `a page of jobs fits a frame, whatever their failures say`() throws {
    var counts = JobCounts()
    for code in [Failure.Code.timeout, .dnsFailure, .connectFailure, .tlsFailure, .notAnImage] {
      let failure = Failure(
        stage: .fetch, code: code,
        detail: String(repeating: "x", count: Failure.maximumDetailByteCount))
      counts.count(.failed(failure), keep: .thumbnail)
    }
    let jobs = (1...600).map { number in
      ImageJob(
        JobRecord(
          id: JobID(rawValue: number), options: RequestOptions(variant: .standard), counts: counts,
          submittedAt: .now))
    }
    let page = JobsPage(fitting: jobs)
    #expect(page.hasMore)
    #expect(page.jobs.count > 50)
    _ = try WireCoding.frame(CoordinatorReply.jobs(RequestID(rawValue: 1), page))
    #expect(JobsPage(fitting: Array(jobs.prefix(3))).hasMore == false)
  }

  @Test func `one list at a time is received on a connection`() throws {
    let client = try parts.greetedClient()
    try client.send(.submit(client.newRequest(), .list()))
    let reply = try client.ask(.submit(client.newRequest(), .list()))
    #expect(reply?.refusal?.message == "one list at a time on one connection")
  }

  @Test func `a list with too many lines in a frame is refused, and its rest is skipped`() throws {
    let client = try parts.greetedClient()
    let id = client.newRequest()
    try client.send(.submit(id, .list()))
    let lines = ListLines([String](repeating: "a", count: Submission.maximumLineCount + 1))
    let reply = try client.ask(.submitLines(id, lines))
    #expect(reply?.refusal?.message == "more than 1000 lines in one frame")
    try client.send(.submitLines(id, ["a"]))
    try client.send(.submitEnd(id))
    #expect(try client.submit(["no URL"]) == JobID(rawValue: 2))
  }

  @Test func `a name of more than 200 bytes is refused`() throws {
    let client = try parts.greetedClient()
    let name = String(repeating: "é", count: 101)
    let reply = try client.ask(.submit(client.newRequest(), .list(name: name)))
    #expect(reply?.refusal?.message == "a job's name has at most 200 bytes")
  }

  @Test func `a coordinator that drains takes no list`() throws {
    let client = try parts.greetedClient()
    parts.lifecycle.drain(because: "test")
    let reply = try client.ask(.submit(client.newRequest(), .list()))
    #expect(reply?.refusal?.code == .stopping)
  }

  @Test func `the list of a client that leaves in the middle is discarded`() throws {
    do {
      let client = try parts.greetedClient()
      let id = client.newRequest()
      try client.send(.submit(id, .list()))
      try client.send(.submitLines(id, ["a"]))
    }
    while !parts.clients.isEmpty { try parts.round() }
    parts.journal.finish()
    #expect(try parts.journal.stored.jobs(after: nil, limit: 10).isEmpty)
  }
}
