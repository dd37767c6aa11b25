import FoundationEssentials
import ImgCommands
import ImgModel
import Testing

extension ProgressBar {
  init(_ status: ImageJob, at elapsed: Duration) {
    self.init(status, at: elapsed, wall: WallTime(rawValue: 0))
  }

  mutating func update(_ status: ImageJob, at elapsed: Duration) {
    update(status, at: elapsed, wall: WallTime(rawValue: 0))
  }
}

@Suite struct ProgressBarTests {
  private func status(
    done: Int, failed: Int = 0, fromCache: Int = 0, bytes: Int64 = 0, total: Int = 1_000,
    state: JobRecord.State = .queued, wait: Wait? = nil, ratePerMinute: Int = 0
  ) -> ImageJob {
    var counts = JobCounts(total: total)
    counts.done = done
    counts.failed = failed
    counts.fromCache = fromCache
    counts.bytesFetched = bytes
    return ImageJob(
      JobRecord(
        id: JobID(rawValue: 7),
        options: RequestOptions(variant: .standard, hostRatePerMinute: ratePerMinute),
        state: state, counts: counts, submittedAt: WallTime(rawValue: 0),
        startedAt: WallTime(rawValue: 0)),
      wait: wait)
  }

  /// A bar that has seen 452 images and 13 MB in ten seconds.
  private var bar: ProgressBar {
    var bar = ProgressBar(status(done: 45), at: .seconds(5))
    bar.update(status(done: 494, failed: 3, fromCache: 12, bytes: 13_000_000), at: .seconds(15))
    return bar
  }

  @Test func `a wide terminal shows everything`() {
    #expect(
      bar.line(columns: 132)
        == "[###################---------------------]  49 %  497/1000  3 failed  0:12 left  "
        + "45.2 img/s  12 from cache  1.3 MB/s")
  }

  @Test func `facts are omitted if there is no room`() {
    #expect(
      bar.line(columns: 80)
        == "[######--------]  49 %  497/1000  3 failed  0:12 left  45.2 img/s  12 from cache")
    #expect(bar.line(columns: 40) == "[#####-------]  49 %  497/1000  3 failed")
    #expect(bar.line(columns: 18) == "[####------]  49 %")
    #expect(bar.line(columns: 10) == "49 %")
    #expect(bar.line(columns: 2) == "49")
    #expect(bar.line(columns: 0) == "")
  }

  @Test(arguments: 1...200)
  func `a line is never wider than the terminal`(columns: Int) {
    #expect(bar.line(columns: columns).count <= columns)
  }

  @Test func `a log has the same facts without the bar`() {
    #expect(
      bar.plainLine
        == "job 7: 497/1000, 49 %, 3 failed, 0:12 left, 45.2 img/s, 12 from cache, 1.3 MB/s")
  }

  @Test func `the first line has no rate and no remaining time`() {
    #expect(ProgressBar(status(done: 0), at: .zero).plainLine == "job 7: 0/1000, 0 %")
  }

  @Test func `only the end is 100 percent`() {
    #expect(ProgressBar(status(done: 999), at: .zero).plainLine == "job 7: 999/1000, 99 %")
    var bar = bar
    bar.update(status(done: 997, failed: 3, state: .finished), at: .seconds(20))
    #expect(bar.plainLine == "job 7: 1000/1000, 100 %, 3 failed")
  }

  @Test func `an empty job is complete`() {
    #expect(
      ProgressBar(status(done: 0, total: 0), at: .zero).line(columns: 30)
        == "[################]  100 %  0/0")
  }

  private static let failing = Wait(
    .hostFailing, host: "example.org", httpStatus: 503, until: WallTime(rawValue: 42_000))

  @Test func `a waiting job shows the reason instead of its rates`() {
    var bar = bar
    bar.update(status(done: 494, failed: 3, wait: Self.failing), at: .seconds(18))
    let reason = "waiting: example.org answered 503, next attempt in 0:42"
    #expect(bar.plainLine == "job 7: 497/1000, 49 %, 3 failed, \(reason)")
    #expect(
      bar.line(columns: 132)
        == "[###################---------------------]  49 %  497/1000  3 failed  \(reason)")
    // The reason is worth more than the bar.
    #expect(bar.line(columns: 85) == "49 %  497/1000  3 failed  \(reason)")
    #expect(bar.line(columns: 40) == "49 %  497/1000  3 failed  \(reason)".prefix(39) + "…")
    bar.update(
      status(done: 494, wait: Self.failing), at: .seconds(19), wall: WallTime(rawValue: 1_000))
    #expect(bar.plainLine.hasSuffix("next attempt in 0:41"))
    // Ten images in a second: the wait before them does not count.
    bar.update(status(done: 504), at: .seconds(20), wall: WallTime(rawValue: 2_000))
    #expect(bar.plainLine.contains("0:50 left, 10.0 img/s"))
  }

  @Test func `a reason that does not fit is told once if the whole job waits for it`() {
    var bar = bar
    let waits = [
      Self.failing, Self.failing.beside(moreHosts: 2), Wait(.transferring, host: "example.org"),
    ]
    let isCut = waits.map { wait in
      bar.update(status(done: 494, failed: 3, wait: wait), at: .seconds(18))
      return [81, 80].map { bar.cutWait(columns: $0) == wait }
    }
    #expect(isCut == [[false, true], [false, false], [false, false]])
  }

  @Test(arguments: [Wait.Kind.transferring, .slowLine, .bandwidth])
  func `the time of slow transfers counts for the rate`(kind: Wait.Kind) {
    var bar = ProgressBar(status(done: 10), at: .zero)
    bar.update(status(done: 10, wait: Wait(kind, host: "h")), at: .seconds(4))
    bar.update(status(done: 20), at: .seconds(5))
    #expect(bar.plainLine.contains("8:10 left, 2.0 img/s"))
  }

  @Test func `a limit of bandwidth that holds a job in motion is named beside its time left`() {
    var bar = ProgressBar(status(done: 10), at: .zero)
    let wait = Wait(.bandwidth, host: "h", detail: "--bytes-per-second")
    bar.update(status(done: 20, wait: wait), at: .seconds(5))
    let facts = bar.plainLine.split(separator: ", ").dropFirst(2).prefix(3)
    #expect(facts == ["8:10 left", "held by --bytes-per-second", "2.0 img/s"])
  }

  @Test func `the time left is that of --rate-per-host for the hosts of a wait`() {
    for (moreHosts, rate, time) in [(0, 60, "16:29"), (1, 60, "8:14"), (1, 30, "16:29")] {
      let wait = Wait(.hostRate, host: "h", until: WallTime(rawValue: 0)).beside(
        moreHosts: moreHosts)
      var bar = ProgressBar(status(done: 8, wait: wait, ratePerMinute: 60), at: .zero)
      bar.hostRatePerMinute = rate
      bar.update(status(done: 10, ratePerMinute: 60), at: .seconds(1))
      bar.update(status(done: 12, ratePerMinute: 60), at: .seconds(2))
      #expect(bar.plainLine.contains("\(time) left, 2.0 img/s"), "the first requests are not held")
    }
  }

  @Test func `a job without progress has no remaining time`() {
    var bar = ProgressBar(status(done: 10), at: .zero)
    bar.update(status(done: 10), at: .seconds(30))
    #expect(bar.plainLine == "job 7: 10/1000, 1 %", "and no rates")
  }
}

@Suite struct SteadyDisplayTests {
  private static let start = WallTime(rawValue: 1_000_000)

  private static func later(_ seconds: Int64) -> WallTime {
    start.advanced(by: .seconds(seconds))
  }

  @Test func `the host of a wait stays until its time has come`() {
    var wait = SteadyWait()
    let first = Wait(.backoff, host: "a", until: Self.later(5))
    wait.update(first, at: Self.later(0))
    wait.update(Wait(.backoff, host: "b", until: Self.later(3)), at: Self.later(1))
    wait.update(Wait(.transferring, host: "c"), at: Self.later(4))
    #expect(wait.shown == first)
    let next = Wait(.backoff, host: "b", until: Self.later(9))
    wait.update(next, at: Self.later(5))
    #expect(wait.shown == next)
    // The same host tells more.
    let slower = Wait(.hostFailing, host: "b", until: Self.later(20))
    wait.update(slower, at: Self.later(6))
    #expect(wait.shown == slower)
  }

  @Test(arguments: [nil, Wait(.paused), Wait(.offline, host: "b")])
  func `what concerns all hosts, or the end of the wait, is shown at once`(next: Wait?) {
    var wait = SteadyWait()
    wait.update(Wait(.backoff, host: "a", until: Self.later(5)), at: Self.later(0))
    wait.update(next, at: Self.later(1))
    #expect(wait.shown == next)
  }

  @Test func `the remaining time counts down, and follows a new rate slowly`() throws {
    var time = RemainingTime()
    time.update(100, at: .seconds(0))
    time.update(200, at: .seconds(1))
    // 99 seconds remain by the first estimate; one second is a twentieth of the pace.
    #expect(try abs(#require(time.seconds) - (99 + 101.0 / 20)) < 0.001)
    for second in 2...200 {
      let last = try #require(time.seconds)
      time.update(second.isMultiple(of: 2) ? 100 : 200, at: .seconds(second))
      #expect(try abs(#require(time.seconds) - last) < 7)
    }
  }

  @Test func `a short remaining time is followed at once`() {
    var time = RemainingTime()
    time.update(700, at: .seconds(0))
    time.update(3, at: .seconds(1))
    #expect(time.seconds == 3)
  }

  @Test func `a job that stands has no remaining time, and then begins with the estimate`() {
    var time = RemainingTime()
    time.update(100, at: .seconds(0))
    time.update(nil, at: .seconds(1))
    #expect(time.seconds == nil)
    time.update(70, at: .seconds(60))
    #expect(time.seconds == 70)
  }
}

@Suite struct RecentRatesTests {
  @Test func `old samples do not count`() {
    var rates = RecentRates()
    rates.add(at: .zero, images: 0, bytes: 0)
    rates.add(at: .seconds(100), images: 100_000, bytes: 0)
    for second in 101...120 {
      rates.add(at: .seconds(second), images: 100_000 + (second - 100) * 5, bytes: 0)
    }
    #expect(rates.imagesPerSecond == 5)
  }

  @Test func `many samples in a moment are one`() {
    var rates = RecentRates()
    for millisecond in 0...20_000 {
      rates.add(at: .milliseconds(millisecond), images: millisecond, bytes: Int64(millisecond) * 2)
    }
    #expect(rates.imagesPerSecond == 1_000)
    #expect(rates.bytesPerSecond == 2_000)
  }

  @Test func `a rate needs half a second of samples`() {
    var rates = RecentRates()
    rates.add(at: .zero, images: 0, bytes: 0)
    rates.add(at: .milliseconds(499), images: 100, bytes: 0)
    #expect(rates.imagesPerSecond == nil)
    rates.add(at: .milliseconds(500), images: 100, bytes: 0)
    #expect(rates.imagesPerSecond == 200)
  }
}

@Suite struct RedrawnLineTests {
  @Test func `a text replaces the previous one once`() {
    var line = RedrawnLine()
    #expect(line.draw("a") == "\r\u{1B}[Ka")
    #expect(line.draw("a") == "")
    #expect(line.draw("b") == "\r\u{1B}[Kb")
    #expect(line.erase() == "\r\u{1B}[K")
    #expect(line.erase() == "")
    #expect(line.draw("b") == "\r\u{1B}[Kb")
    #expect(line.end() == "\n")
    #expect(line.end() == "")
  }
}

/// Which states of a job become lines.
@Suite struct LineCadenceTests {
  private func status(
    _ done: Int, _ state: JobRecord.State = .queued, wait: Wait? = nil
  ) -> ImageJob {
    ImageJob(
      JobRecord(
        id: JobID(rawValue: 1), options: RequestOptions(variant: .standard), state: state,
        counts: counts(done), submittedAt: WallTime(rawValue: 0)), wait: wait)
  }

  private func counts(_ done: Int) -> JobCounts {
    var counts = JobCounts(total: 9)
    counts.done = done
    return counts
  }

  /// The seconds at which a line comes.
  private func lines(_ states: [(second: Double, ImageJob)]) -> [Double] {
    var cadence = LineCadence()
    return states.filter { cadence.takes($0.1, as: "\($0.1.done)", at: .seconds($0.second)) }
      .map(\.second)
  }

  @Test func `the first state is a line, then each change at most once a second`() {
    #expect(
      lines([(0, status(0)), (0.5, status(1)), (1, status(2)), (1.9, status(3)), (2, status(3))])
        == [0, 1, 2])
  }

  @Test func `an unchanged state is a line once a minute`() {
    let states = (0...180).map { (second: Double($0), status(1)) }
    #expect(lines(states) == [0, 60, 120, 180])
    #expect(lines([(0, status(1)), (2, status(1, .paused)), (60, status(1, .paused))]) == [0, 60])
  }

  @Test func `what can be done about a wait is told once, until the wait is another one`() {
    var cadence = LineCadence()
    var second = 0.0
    func line(_ wait: Wait, done: Int) -> String? {
      second += 2
      let status = status(done, wait: wait)
      let bar = ProgressBar(status, at: .zero, wall: WallTime(rawValue: 0))
      return cadence.line(of: status, bar, at: .seconds(second))
    }
    let captive = Wait(.captive, host: "h", detail: "then retry")
    let login = "many hosts answer with web pages"
    #expect(
      line(captive, done: 1)?.hasSuffix(
        "\(login) (a login page of the network?); trying h; then retry") == true)
    #expect(line(captive, done: 2)?.hasSuffix("waiting: \(login); trying h") == true)
    let offline = Wait(.offline, host: "h", detail: "refused; another proxy")
    #expect(line(offline, done: 3)?.hasSuffix("offline: refused; another proxy; trying h") == true)
    #expect(line(offline, done: 4)?.hasSuffix("offline: refused; trying h") == true)
  }

  @Test func `a wait that goes on is no change, whichever host is tried, and until when`() {
    func line(_ kind: Wait.Kind, _ host: String, second: Int64) -> (Double, ImageJob) {
      let wait = Wait(
        kind, host: host, detail: kind == .offline ? nil : "\(host) and others", moreHosts: 2,
        until: WallTime(rawValue: second * 1_000))
      return (Double(second), status(1, wait: wait))
    }
    for kind in [Wait.Kind.offline, .backoff, .hostRate, .awaitingAnswer] {
      var cadence = LineCadence()
      let lines = (0..<60).map { line(kind, "h\($0 % 3)", second: $0) }
        .filter { cadence.takes($0.1, as: "\($0.0)", at: .seconds($0.0)) }
      #expect(lines.count == 1, "\(kind)")
    }
  }

  @Test func `the end is one line at once`() {
    let end = status(9, .finished)
    #expect(lines([(0, status(8)), (0.1, end), (0.2, end)]) == [0, 0.1])
  }
}

/// What held a list back: the limit of transfers, its hosts, or the machine.
@Suite struct TransferLimitWatchTests {
  private func cluster(transfers: Int, decoding: Int, limit: Int = 64) -> ClusterStatus {
    var limits = Limits()
    limits.transfers = limit
    return ClusterStatus(
      state: .running, processID: 1, version: "0", startedAt: WallTime(rawValue: 0),
      socketPath: "/socket", dataDirectory: "/data", cacheDirectory: "/data",
      storeName: "thumbnails",
      workers: (0..<2).map {
        .init(
          number: $0, processes: .init(worker: 1), state: .ready, lookingUp: 0, fetching: 0,
          decoding: $0 == 0 ? decoding : 0, deaths: 0)
      },
      transfers: transfers, activeJobs: 1, viewers: 0, lateAnswers: 0, discardedLate: 0,
      journalError: nil, storeError: nil, limits: limits,
      settings: CoordinatorSettings(
        workerExecutable: "/w", idleExit: nil, allowedNetworks: [], allowedDirectories: [],
        authorityFile: nil, requiresSandbox: false))
  }

  /// - Parameter failure: of some more lines, which took too long.
  private func job(
    queued: Int, failure: String? = nil, failureCount: Int = 1, wait: Wait? = nil
  ) -> ImageJob {
    var record = JobRecord(
      id: JobID(rawValue: 7), options: RequestOptions(variant: .standard),
      counts: JobCounts(total: queued + (failure == nil ? 0 : failureCount)),
      submittedAt: WallTime(rawValue: 0))
    if let failure {
      for _ in 0..<failureCount {
        record.count(.failed(Failure(stage: .fetch, code: .timeout, detail: failure)))
      }
    }
    return ImageJob(record, wait: wait)
  }

  private func note(
    transfers: Int = 64, decoding: Int = 1, queued: Int = 9, looks: Int = 5, limit: Int = 64,
    failure: String? = nil, failureCount: Int = 1, wait: Wait? = nil
  ) -> String? {
    var watch = TransferLimitWatch()
    for _ in 0..<looks {
      watch.add(
        cluster(transfers: transfers, decoding: decoding, limit: limit),
        job(queued: queued, failure: failure, failureCount: failureCount, wait: wait))
    }
    return watch.note
  }

  @Test func `a list that waits for transfers while decoders idle is held back by their limit`() {
    let text =
      "the limit of 64 transfers held the list back, not this machine; more at once: imgctl limits "
      + "--transfers 128"
    #expect(note() == text)
    // The others are reserved for hosts that answer soon.
    #expect(note(transfers: 56) == text)
    #expect(note(transfers: 9_000, limit: 9_000)?.hasSuffix("--transfers 16384") == true)
  }

  @Test func `programs that follow the job are told, too`() throws {
    func json(limitNote: String?) throws -> String {
      let state = FollowedJob(job(queued: 9), limitNote: limitNote)
      return String(decoding: try JSONEncoder().encode(state), as: UTF8.self)
    }
    let told = try json(limitNote: note())
    #expect(told.contains(#""transfer_limit_note":"the limit of 64 transfers held"#), "\(told)")
    #expect(told.contains(#""queued":9"#))
    #expect(try !json(limitNote: nil).contains("transfer_limit_note"))
  }

  @Test func `a list that something else holds back is not`() {
    #expect(note(transfers: 55) == nil, "its hosts")
    #expect(note(decoding: 2) == nil, "the decoders")
    #expect(note(queued: 0) == nil, "its last lines are under way")
    #expect(note(looks: 4) == nil, "too short a list")
    #expect(note(transfers: 16_384, limit: 16_384) == nil, "no more can be set")
    #expect(note(failure: Failure.tooSlow(seconds: 20)) == nil, "the line")
    #expect(note(failure: "Connection timed out") != nil)
    #expect(note(failure: "Connection timed out", failureCount: 2) == nil, "the network")
    #expect(note(wait: Wait(.awaitingAnswer, host: "h")) == nil, "silent hosts")
    #expect(note(wait: Wait(.transfersFull)) != nil)
    var watch = TransferLimitWatch()
    for count in 0..<10 {
      watch.add(cluster(transfers: count < 5 ? 64 : 3, decoding: 0), job(queued: 9))
    }
    #expect(watch.note == nil, "half of the time")
  }
}

@Suite struct NarrowTableTests {
  private func table() -> Table {
    var table = Table([
      .number("job"), .text("state"), .number("retryable").ifItFits, .number("cached").ifItFits,
      .text("name"),
    ])
    table.addRow(["1", "running", "0", "12", "a list of pictures of mountains"])
    table.addRow(["12", "finished", "0", "0", "b"])
    return table
  }

  @Test func `a table that is too wide loses columns of zeros first, then the ends of texts`() {
    #expect(table().rendered(within: 80) == table().rendered)
    #expect(
      table().rendered(within: 40) == """
        job  state     cached  name
          1  running       12  a list of pictur…
         12  finished       0  b

        """)
  }

  @Test(arguments: [60, 40, 30, 26])
  func `no row is wider than the terminal`(width: Int) {
    let lines = table().rendered(within: width).split(separator: "\n")
    #expect(lines.allSatisfy { $0.count <= width })
    #expect(lines[1].contains("running") && lines[1].contains("a list"))
  }

  @Test
  func `commands in a table and in the line of the progress carry the places that were typed`() {
    let places = TypedPlaces(in: ["list", "--data-dir", "d"])
    let job = ImageJob(
      JobRecord(
        id: JobID(rawValue: 8), options: RequestOptions(variant: .standard), state: .queued,
        submittedAt: WallTime(rawValue: 0)), wait: Wait(.storePinned))
    var table = JobListing(at: WallTime(rawValue: 0), places: places)
    table.add(job)
    let bar = ProgressBar(job, at: .zero, wall: WallTime(rawValue: 0), places: places)
    for text in [table.rendered, bar.plainLine, bar.line(columns: 200)] {
      #expect(text.contains("(imgctl --data-dir d export JOB DIR, imgctl --data-dir d unpin"))
    }
    var below = JobListing(at: WallTime(rawValue: 0))
    below.add(job, besides: [Wait(.storePinned)])
    #expect(!below.rendered.contains("use up"), "the reason stands above the table")
    var beside = JobListing(at: WallTime(rawValue: 0))
    beside.add(job, tellsWait: false)
    #expect(!beside.rendered.contains("use up"), "the reason stands beside the table")
  }

  @Test(arguments: [20, 40, 60, 72, 80, 120])
  func `a table of waiting jobs fits the terminal, uses its room, and cuts no state`(width: Int) {
    var table = JobListing(at: WallTime(rawValue: 60_000))
    for (number, host) in [(8, "example.org"), (109, "pictures.example.org")] {
      table.add(
        ImageJob(
          JobRecord(
            id: JobID(rawValue: UInt64(number)), name: "holidays of 1998",
            options: RequestOptions(variant: .standard, delay: .seconds(3_600)), state: .queued,
            submittedAt: WallTime(rawValue: 0)), isDelayed: true,
          wait: Wait(.hostFailing, host: host, httpStatus: 503, until: WallTime(rawValue: 102_000)))
      )
    }
    let lines = table.rendered(within: width).split(separator: "\n").map(String.init)
    #expect(lines.count == 3)
    #expect(lines.allSatisfy { $0.count <= width })
    #expect(lines.dropFirst().allSatisfy { $0.contains("  scheduled") })
    if lines.contains(where: { $0.contains("…") }) { #expect(lines.map(\.count).max() == width) }
    if width > 60 { #expect(lines[0].contains("waiting")) }
  }
}
