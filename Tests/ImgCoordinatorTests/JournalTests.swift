import FoundationEssentials
import Glibc
import ImgModel
import ImgScheduler
import ImgSettings
import ImgStore
import ImgSystem
import ImgWire
import TestFiles
import Testing

@testable import ImgCoordinator

@Suite struct JournalGroupTests {
  private let directory = TestDirectory()
  private let place: JournalPlace
  private let job = JobID(rawValue: 1)
  private let unknown = JobID(rawValue: 9)

  init() throws {
    let settings = Settings(socketPath: "/socket", dataDirectory: directory.file("data"))
    let owned = try DataDirectory(taking: settings)
    place = JournalPlace(
      journal: try Journal(directory: directory.file("data/journal")), directory: owned)
  }

  private var submission: [JournalOperation] {
    let record = JobRecord(
      id: job, options: RequestOptions(variant: .standard), submittedAt: WallTime(rawValue: 0))
    return [.createJob(record), .appendURLs(job, ["a", "b"]), .seal(job)]
  }

  @Test func `a group is written as one, reported once and then empty`() throws {
    var group = JournalGroup()
    #expect(group.write(to: place) == nil)
    group.add(submission)
    #expect(group.write(to: place) == .applied(submission))
    #expect(group.write(to: place) == nil)
    #expect(try place.journal.job(job)?.counts.total == 2)
  }

  @Test func `a part of a list that cannot be written is refused, outcomes are kept`() throws {
    var group = JournalGroup()
    group.add(submission)
    _ = group.write(to: place)
    let outcome = JournalOperation.record(job, index: 0, .cancelled)
    group.add([outcome, .seal(unknown)])
    guard case .refused([.seal(unknown)], _) = group.write(to: place) else {
      Issue.record("a job that was never created was sealed")
      return
    }
    #expect(group.write(to: place) == .applied([outcome]))
    #expect(try place.journal.job(job)?.counts.finished == 1)
  }

  @Test func `what follows of a refused list is dropped up to its discard`() {
    var group = JournalGroup()
    group.add([.seal(unknown)])
    _ = group.write(to: place)
    group.add([.appendURLs(unknown, ["a"])])
    #expect(group.write(to: place) == nil)
    group.add([.discard(unknown)])
    #expect(group.write(to: place) == .applied([.discard(unknown)]))
    group.add(submission)
    #expect(group.write(to: place) == .applied(submission))
  }

  @Test(arguments: [
    "data", "data/journal", "data/journal/data.mdb", "data/journal/lock.mdb", "data/store",
    "data/coordinator.lock",
  ])
  func `what is removed is made again, with all jobs, before more is written`(part: String) throws {
    var group = JournalGroup()
    group.add(submission)
    try #require(group.write(to: place) == .applied(submission))
    try directory.remove(part)
    let outcome = JournalOperation.record(job, index: 1, .cancelled)
    group.add([outcome])
    var answer = group.write(to: place)
    var restoredCount = 0
    while case .restored(let sentence) = answer {
      #expect(sentence.contains(directory.file("data")))
      #expect(sentence.contains("had been removed; it is there again"))
      restoredCount += 1
      answer = group.write(to: place)
    }
    #expect(answer == .applied([outcome]))
    #expect(restoredCount == 1)
    #expect(FileLock.holder(path: directory.file("data/coordinator.lock")) != nil)
    #expect(try FileStatus(at: directory.file("data/store")).isDirectory)
    // A process opens an environment once, so a copy shows what the next process would read.
    let copy = directory.file("copy")
    try FileManager.default.copyItem(atPath: directory.file("data/journal"), toPath: copy)
    try directory.remove("copy/lock.mdb")
    let next = try Journal(directory: copy)
    #expect(try next.job(job)?.counts.finished == 1)
    let lines = try next.results(of: job, from: 0, limit: 9, isFailedOnly: false)
    #expect(lines.entries.map(\.url) == ["a", "b"])
  }

  @Test func `what another user or another journal has replaced is not overwritten`() throws {
    try directory.remove("data/journal")
    let others = try Journal(directory: directory.file("data/journal"))
    var group = JournalGroup()
    group.add(submission)
    guard case .lost(let reason) = group.write(to: place) else {
      Issue.record("another journal was overwritten")
      return
    }
    #expect(reason.contains("was removed or replaced while the coordinator ran"))
    #expect(try others.jobs(limit: 1) == [])

    try directory.remove("data")
    try #require(unsafe symlink(directory.path, directory.file("data")) == 0)
    guard case .lost(let reason) = group.write(to: place) else {
      Issue.record("a symbolic link was followed")
      return
    }
    #expect(reason.contains("which is a symbolic link"), "\(reason)")
  }
}

@Suite struct GatheredOutcomesTests {
  private let now = Instant.now
  private let job = JobID(rawValue: 1)
  private var outcomes = GatheredOutcomes()

  @Test mutating func `outcomes wait for others from the first one on`() {
    #expect(outcomes.deadline == nil)
    outcomes.add(.record(job, index: 0, .cancelled), at: now)
    outcomes.add(.record(job, index: 1, .cancelled), at: now + .milliseconds(10))
    #expect(!outcomes.isComplete)
    #expect(outcomes.deadline == now + GatheredOutcomes.longestWait)
  }

  @Test mutating func `many outcomes wait no longer`() {
    for index in 0..<GatheredOutcomes.maximumCount {
      #expect(!outcomes.isComplete)
      outcomes.add(.record(job, index: index, .cancelled), at: now)
    }
    #expect(outcomes.isComplete)
  }

  @Test mutating func `what a client or a job waits for does not wait, nor what is before it`() {
    outcomes.add(.record(job, index: 0, .cancelled), at: now)
    outcomes.add(.finish(job, at: WallTime(rawValue: 1)), at: now)
    outcomes.add(.record(job, index: 1, .cancelled), at: now)
    #expect(outcomes.isComplete)
    #expect(
      outcomes.take() == [
        .record(job, index: 0, .cancelled), .finish(job, at: WallTime(rawValue: 1)),
        .record(job, index: 1, .cancelled),
      ])
    #expect(outcomes.take().isEmpty)
    #expect(outcomes.deadline == nil && !outcomes.isComplete)
  }
}

@Suite(.timeLimit(.minutes(20))) struct LineReaderTests {
  @Test func `a page that the scheduler asked for is read once`() throws {
    let parts = try CoordinatorParts()
    let reader = LineReader(
      scheduler: parts.scheduler, journal: parts.journal, lifecycle: parts.lifecycle, log: Log())
    parts.makeWorkerReady()
    let client = try parts.greetedClient()
    let job = try #require(try client.submit(["http://h/1", "http://h/2"]))
    let requests = parts.otherEffects.compactMap { effect in
      if case .readLines(let request) = effect { request } else { nil }
    }
    let request = try #require(requests.first)
    #expect(request.job == job)
    #expect(reader.isIdle)
    reader.add(request)
    #expect(!reader.isIdle)
    #expect(parts.scheduler.state.awaits(request) == true)
    reader.readNext()
    #expect(reader.isIdle)
    #expect(parts.scheduler.state.awaits(request) == false)
    // A page that the scheduler has, or wants no longer, is not read again.
    reader.add(request)
    reader.readNext()
    #expect(parts.lifecycle.isRunning)
  }
}

@Suite(.timeLimit(.minutes(20))) struct JobRetentionTests {
  private let parts: CoordinatorParts
  private let client: TestClient
  private let start = Instant.now

  init() throws {
    parts = try CoordinatorParts()
    client = try parts.greetedClient()
  }

  private func retention(keep: Duration?) -> JobRetention {
    JobRetention(
      keptTime: keep, journal: parts.journal, changes: parts.requests.changes,
      lifecycle: parts.lifecycle, at: start)
  }

  @Test func `a job that has ended is removed once it is old enough, an open one stays`() throws {
    let ended = try #require(try client.submit(["http://h/1"]))
    let open = try #require(try client.submit(["http://h/2"]))
    let reply = try client.ask(
      .change(client.newRequest(), .cancel, of: ended))
    #expect(reply?.job?.state == .cancelled)
    retention(keep: .seconds(3_600)).removeOldJobs(at: start)
    retention(keep: .zero).removeOldJobs(at: start)
    while try parts.journal.stored.job(ended) != nil { try parts.round() }
    #expect(try parts.journal.stored.job(open) != nil)
  }

  @Test func `rounds follow each other after a pause, none while every job stays`() {
    let retention = retention(keep: .seconds(10))
    #expect(retention.deadline == start)
    retention.removeOldJobs(at: start)
    #expect(retention.deadline == start + .seconds(10))
    #expect(self.retention(keep: nil).deadline == nil)
    parts.lifecycle.drain(because: "test")
    #expect(retention.deadline == nil)
  }
}
