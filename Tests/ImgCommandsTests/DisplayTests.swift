import Glibc
import ImgClient
import ImgCommands
import ImgModel
import ImgSettings
import ImgSystem
import ImgWire
import Testing

@Suite struct TableTests {
  @Test func `text is aligned left and numbers right`() {
    var table = Table([.number("JOB"), .text("STATE"), .number("TOTAL"), .text("NAME")])
    table.addRow(["7", "running", "1000", "urls.txt"])
    table.addRow(["12", "done", "5", ""])
    #expect(
      table.rendered == """
        JOB  STATE    TOTAL  NAME
          7  running   1000  urls.txt
         12  done         5

        """)
  }

  @Test func `a table without rows has its headings`() {
    #expect(Table([.text("A"), .text("B")]).rendered == "A  B\n")
  }

  @Test func `control characters in a cell are replaced`() {
    var table = Table([.text("URL")])
    table.addRow(["a\u{1B}[2J\nb"])
    #expect(table.rendered == "URL\na\u{FFFD}[2J\u{FFFD}b\n")
  }
}

@Suite struct HumanTextTests {
  @Test(
    arguments: [
      (0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (1_536, "1.5 KiB"),
      (1_048_575, "1.0 MiB"), (400 << 20, "400 MiB"), (.max, "8388608 TiB"), (-1, "0 B"),
    ] as [(Int64, String)])
  func `a size has a binary unit`(byteCount: Int64, text: String) {
    #expect(HumanText.size(byteCount) == text)
  }

  @Test(
    arguments: [
      (0, "0 B/s"), (1_300_000, "1.3 MB/s"), (999.6, "1.0 kB/s"), (250_000_000, "250 MB/s"),
    ] as [(Double, String)])
  func `a rate has a decimal unit`(bytesPerSecond: Double, text: String) {
    #expect(HumanText.rate(bytesPerSecond: bytesPerSecond) == text)
  }

  @Test(
    arguments: [
      (45.24, "45.2"), (0, "0.0"), (99.95, "100"), (1234.5, "1235"), (-0.01, "0.0"), (-2.5, "-2.5"),
      (.infinity, "-"), (.nan, "-"), (1e300, "-"),
    ] as [(Double, String)])
  func `a number has one decimal while it matters`(value: Double, text: String) {
    #expect(HumanText.number(value) == text)
  }

  @Test(arguments: [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (1_000, "1000 jobs")])
  func `a count has a singular or plural noun`(count: Int, text: String) {
    #expect(HumanText.count(count, of: "job") == text)
  }

  @Test(
    arguments: [
      (0, "0ms"), (850, "850ms"), (12_000, "12s"), (192_000, "3m 12s"), (3_600_000, "1h"),
      (3_601_000, "1h"), (187_200_000, "2d 4h"), (-5, "0ms"),
    ] as [(Int64, String)])
  func `a duration has its two largest units`(milliseconds: Int64, text: String) {
    #expect(HumanText.duration(.milliseconds(milliseconds)) == text)
  }

  @Test(
    arguments: [
      (0, "0ms"), (40, "40ms"), (3_960, "3.96s"), (2_000, "2s"), (63_500, "1m 3.5s"),
      (60_000, "1m"), (3_600_001, "1h 0.001s"), (90_061_250, "25h 1m 1.25s"), (-1, "0ms"),
    ])
  func `the duration of an animation is exact`(milliseconds: Int, text: String) {
    #expect(HumanText.exactDuration(milliseconds: milliseconds) == text)
  }

  @Test func `an age is relative to now`() {
    let age = HumanText.age(of: WallTime(rawValue: 1_000), at: WallTime(rawValue: 61_000))
    #expect(age == "1m ago")
  }

  @Test(
    arguments: [(0, "0:00"), (11, "0:11"), (75, "1:15"), (3_723, "1:02:03")] as [(Int64, String)])
  func `a stopwatch shows hours if there are any`(seconds: Int64, text: String) {
    #expect(HumanText.stopwatch(seconds: seconds) == text)
  }
}

@Suite struct JobDisplayTests {
  private func status(
    _ state: JobRecord.State, done: Int = 0, failed: Int = 0, retryable: Int = 0,
    cancelled: Int = 0, damaged: Int = 0, isLenient: Bool = false, isDelayed: Bool = false,
    isCancelling: Bool = false
  ) -> ImageJob {
    var counts = JobCounts(total: 20)
    counts.done = done
    counts.damaged = damaged
    counts.failed = failed
    counts.retryable = retryable
    counts.cancelled = cancelled
    let hasEnded = state == .finished || state == .cancelled
    let record = JobRecord(
      id: JobID(rawValue: 7), name: "holiday",
      options: RequestOptions(variant: .standard, isLenient: isLenient),
      state: state, counts: counts, submittedAt: WallTime(rawValue: 0),
      startedAt: isDelayed ? nil : WallTime(rawValue: 1_000),
      finishedAt: hasEnded ? WallTime(rawValue: 5_000) : nil)
    return ImageJob(record, isDelayed: isDelayed, isCancelling: isCancelling)
  }

  @Test func `the summary of a successful job has its counts and its duration`() {
    #expect(
      JobSummary(status(.finished, done: 20)).text
        == "job 7 finished: 20 of 20 done, 0 failed, 0 from cache, 0 B fetched, in 4s\n")
  }

  @Test func `the summary counts damaged pictures`() {
    #expect(
      JobSummary(status(.finished, done: 20, damaged: 3, isLenient: true)).text
        .hasPrefix("job 7 finished: 20 of 20 done, 3 of them damaged, 0 failed, "))
  }

  @Test func `the summary names the command that repeats temporary failures`() {
    #expect(
      JobSummary(status(.finished, done: 15, failed: 5, retryable: 3)).text == """
        job 7 finished: 15 of 20 done, 5 failed, 0 from cache, 0 B fetched, in 4s
        3 of the failures are temporary: imgctl retry 7
        list the failures: imgctl failures 7

        """)
    #expect(
      JobSummary(status(.finished, done: 15, failed: 5, retryable: 5)).text
        .contains("\nall failures are temporary: imgctl retry 7\n"))
    let one = JobSummary(status(.finished, done: 19, failed: 1, retryable: 1)).text
    #expect(one.contains("\nthe failure is temporary: imgctl retry 7\n"))
  }

  @Test func `the summary counts what is no longer stored, and tells of a full disk`() {
    let text = JobSummary(
      status(.finished, done: 20), results: ResultsInStore(lostCount: 12), diskNote: "it is full"
    ).text
    #expect(
      text.hasSuffix(
        """
        12 of 20 thumbnails are no longer stored; to fetch again what DIR has not: imgctl export 7 DIR --fetch
        it is full

        """))
  }

  /// - Parameter diskByteCount: of a disk that is nearly full.
  private func tooLarge(_ pinPolicy: PinPolicy, diskByteCount: Int64? = nil) -> ImageJob {
    let record = JobRecord(
      id: JobID(rawValue: 7), options: RequestOptions(variant: .standard), pinPolicy: pinPolicy,
      state: .queued, counts: JobCounts(total: 60_000), submittedAt: WallTime(rawValue: 0))
    let report = StoreReport(
      directory: "/d", budgetByteCount: 400 << 20, diskByteCount: diskByteCount, pinnedByteCount: 0,
      pinningJobs: [])
    let shortage = StoreShortage(record, store: report, budgetByteCount: 0)
    return ImageJob(record, wait: Wait(.storePinned), shortage: shortage)
  }

  @Test func `a job that needs more than the store holds names both sizes and what can be done`() {
    #expect(
      ShortageText(tooLarge(.whileActive))?.warning == """
        job 7 needs at most 469 MiB of the store (if each has 8.0 KiB), but the store's budget is 400 MiB: the job waits
        to make room: imgctl export 7 DIR, repeatedly while the job runs; or imgctl stop && imgctl start \
        --store-budget 590M; or imgctl unpin 7, to keep only what comes last

        """)
    #expect(
      ShortageText(tooLarge(.none, diskByteCount: 5 << 20))?.warning == """
        job 7 needs at most 469 MiB of the store (if each has 8.0 KiB), but the disk has room for 5.0 MiB of the \
        store's budget of 400 MiB: later thumbnails may replace earlier ones
        to make room: free space on the disk; or imgctl export 7 DIR, repeatedly while the job runs

        """)
    let bar = ProgressBar(
      tooLarge(.whileActive, diskByteCount: 5 << 20), at: .zero, wall: WallTime(rawValue: 0))
    let line = "job 7: 0/60000, 0 %, waiting: pins use up the store"
    #expect(bar.plainLine == line, "what the job needs, and what can be done, is a note before it")
    let fact = "needs at most 469 MiB of a store of 5.0 MiB on a full disk"
    #expect(bar.line(columns: 200).contains("use up the store  \(fact)"))
  }

  @Test
  func `what to do about a full store depends on its limit, and on who starts the coordinator`() {
    let warning = ShortageText(tooLarge(.whileActive), isOfService: true)?.warning
    let file = "; or set IMGCTL_STORE_BUDGET=590M in /etc/default/imgctl, then: systemctl restart "
    #expect(warning?.contains(file) == true)
    let full = Failure(stage: .store, code: .storeFull, detail: "it is full; free space on it")
    #expect(JobSummary(failed([(2, full)])).text.contains("\nstore_full: free space on it\n"))
  }

  /// A job whose lines failed so.
  private func failed(_ failures: [(Int, Failure)]) -> ImageJob {
    var record = JobRecord(
      id: JobID(rawValue: 7), options: RequestOptions(variant: .standard), state: .finished,
      counts: JobCounts(total: failures.reduce(0) { $0 + $1.0 }), submittedAt: .distantPast)
    for (count, failure) in failures {
      for _ in 0..<count { record.count(.failed(failure)) }
    }
    return ImageJob(record)
  }

  @Test func `the summary names the hosts of several failures`() {
    let page = Failure(stage: .decode, code: .notAnImage, detail: "an HTML page")
    let silent = Failure(stage: .fetch, code: .dnsFailure, detail: "no answer")
    let bad = Failure(stage: .queue, code: .invalidURL, detail: "no scheme")
    var details = FailureDetails()
    for (url, failure) in [
      ("http://a.test/1", page), ("http://a.test/2", page), ("http://b.test/1", silent),
      ("http://c.test/1", silent), ("http://c.test/2", silent), ("x", bad), ("y", bad),
    ] {
      details.add(LineResult(index: 0, ListLine(url), .failed(failure)))
    }
    #expect(
      JobSummary(failed([(2, page), (3, silent), (2, bad)]), details: details).text.contains(
        """
          3 dns_failure, temporary, at 2 hosts, 2 at c.test: no answer
          2 invalid_url: no scheme
          2 not_an_image, all at a.test: an HTML page

        """))
  }

  @Test func `the summary counts failures by code, and names a cure where there is one`() {
    func failure(_ code: Failure.Code, _ detail: String, status: Int? = nil) -> Failure {
      Failure(stage: .fetch, code: code, httpStatus: status, detail: detail)
    }
    let text = JobSummary(
      failed([
        (1, failure(.httpStatus, "the origin answered 503", status: 503)),
        (2, failure(.httpStatus, "the origin answered 404", status: 404)),
        (12, failure(.blockedAddress, "10.0.0.1 is refused: private; see --allow-network")),
        (1, failure(.corruptImage, "no end of image")), (1, failure(.optedOut, "noai")),
        (1, failure(.tooLarge, "too long")), (1, failure(.tooManyPixels, "too many")),
      ])
    ).text
    #expect(
      text.hasSuffix(
        """
          12 blocked_address: such as 10.0.0.1 is refused: private
           2 http_status: such as the origin answered 404
           1 corrupt_image: no end of image
           1 http_status, temporary: the origin answered 503
           1 opted_out: noai
          and 2 URLs of 2 other kinds
        to permit this network: imgctl stop && imgctl start --allow-network CIDR && imgctl retry 7 --all; imgctl start \
        replaces the kept ones, so give those that imgctl config show lists, too
        to keep what can be decoded of damaged pictures: imgctl submit FILE --lenient
        opted_out: their origins do not permit this use; see --respect-opt-out and --respect-robots in imgctl \
        help submit
        1 of the failures is temporary: imgctl retry 7
        list the failures: imgctl failures 7

        """))
  }

  @Test func `jobs without a coordinator go on when one is started, unless they are paused`() {
    let waiting = status(.queued, done: 5, failed: 2)
    let one = WaitingJobs([waiting, status(.paused), status(.finished, done: 20)])
    #expect(one.note(.personal) == "job 7 has 13 waiting URLs; imgctl start continues it\n")
    let both = WaitingJobs([waiting, status(.queued, isDelayed: true)])
    #expect(both.note(.personal) == "2 jobs have 33 waiting URLs; imgctl start continues them\n")
    #expect(both.note(.service).hasSuffix("; systemctl start imgcoordinator continues them\n"))
    #expect(both.note(.copy(of: "/d")).contains("a copy of /d: start no coordinator"))
    #expect(WaitingJobs([status(.paused)]).note(.personal).isEmpty)
  }

  @Test func `the summary offers no retry without temporary failures`() {
    #expect(
      JobSummary(status(.cancelled, done: 15, failed: 4, cancelled: 1)).text == """
        job 7 cancelled: 15 of 20 done, 4 failed, 1 cancelled, 0 from cache, 0 B fetched, in 4s
        list the failures: imgctl failures 7
        to continue the 1 cancelled URL: imgctl retry 7

        """)
  }

  @Test func `a retry says what it repeats`() {
    let before = status(.finished, done: 5, failed: 15, retryable: 12)
    #expect(
      RetryReport(from: before, to: status(.queued, done: 5, failed: 3)).text
        == "job 7 repeats 12 of 15 failures\n")
    #expect(
      RetryReport(
        from: status(.cancelled, done: 5, failed: 2, retryable: 1, cancelled: 13),
        to: status(.queued, done: 5, failed: 1)
      ).text == "job 7 repeats 1 of 2 failures and 13 cancelled URLs\n")
    #expect(
      RetryReport(
        from: status(.cancelled, done: 19, cancelled: 1), to: status(.queued, done: 19)
      ).text == "job 7 repeats 1 cancelled URL\n")
    #expect(
      RetryReport(
        from: status(.finished, done: 19, failed: 1, retryable: 1), to: status(.queued, done: 19)
      ).text == "job 7 repeats 1 of 1 failure\n")
  }

  @Test func `a table shows each job's state and its retryable failures`() {
    var table = JobListing(at: WallTime(rawValue: 60_000))
    table.add(status(.paused, done: 5, failed: 3, retryable: 2))
    table.add(status(.queued, isDelayed: true))
    table.add(status(.queued, isCancelling: true))
    let columns = table.rendered.split(separator: "\n").map { line in
      line.split(separator: " ").prefix(6).joined(separator: " ")
    }
    #expect(
      columns == [
        "job state total done failed retryable", "7 paused 20 5 3 2", "7 scheduled 20 0 0 0",
        "7 cancelling 20 0 0 0",
      ])
  }

  @Test func `a table shows priority, order and delay only if they are not the default`() {
    func record(
      _ state: JobRecord.State = .queued, priority: Int = 0, order: LineOrder = .firstInFirstOut,
      delay: Duration = .zero
    ) -> JobRecord {
      JobRecord(
        id: JobID(rawValue: 7), name: "holiday",
        options: RequestOptions(variant: .standard, priority: priority, delay: delay),
        order: order, state: state, submittedAt: WallTime(rawValue: 0))
    }
    /// The cells behind the age of each job.
    func lastCells(_ records: JobRecord...) -> [[String]] {
      var table = JobListing(at: WallTime(rawValue: 60_000))
      for record in records { table.add(ImageJob(record)) }
      return table.rendered.split(separator: "\n").map { line in
        line.split(separator: "submitted").last?.split(separator: " ago").last?
          .split(separator: "  ").map { String($0.trimmingPrefix(" ")) } ?? []
      }
    }
    #expect(
      lastCells(record(), record(delay: .seconds(60))) == [["name"], ["holiday"], ["holiday"]])
    #expect(
      lastCells(
        record(), record(priority: -1),
        record(priority: 2, order: .lastInFirstOut, delay: .seconds(630)),
        record(.cancelled, delay: .seconds(630)))
        == [
          ["options", "name"], ["holiday"], ["priority -1", "holiday"],
          ["priority 2, lifo, starts in 9m 30s", "holiday"], ["holiday"],
        ])
  }

  @Test func `a table shows in its last column why a job waits`() {
    let wait = Wait(
      .hostFailing, host: "example.org", httpStatus: 503, until: WallTime(rawValue: 102_000))
    var table = JobListing(at: WallTime(rawValue: 60_000))
    table.add(status(.queued))
    table.add(
      ImageJob(
        JobRecord(
          id: JobID(rawValue: 8), options: RequestOptions(variant: .standard), state: .queued,
          submittedAt: WallTime(rawValue: 0)), wait: wait))
    let lines = table.rendered.split(separator: "\n")
    #expect(lines[0].hasSuffix("name     waiting"))
    #expect(lines[1].hasSuffix("holiday"))
    #expect(lines[2].hasSuffix("  example.org answered 503, next attempt in 0:42"))
  }

  @Test func `progress names the state of a job that does not run`() {
    func line(_ status: ImageJob) -> String {
      var bar = ProgressBar(self.status(.queued, done: 2), at: .seconds(0))
      bar.update(status, at: .seconds(2))
      return bar.plainLine
    }
    #expect(line(status(.paused, done: 4)) == "job 7: 4/20, 20 %, paused")
    #expect(line(status(.queued, isDelayed: true)) == "job 7: 0/20, 0 %, scheduled")
    #expect(line(status(.queued, done: 4, isCancelling: true)) == "job 7: 4/20, 20 %, cancelling")
    #expect(line(status(.queued, done: 4)).contains("img/s"))
  }
}

@Suite(.timeLimit(.minutes(20))) struct OutputTests {
  private struct Point: Encodable {
    let url = "https://example.org/"
    let across = 1
  }

  /// What was written by `body`, seen at the other end of a socket.
  private func written(capacity: Int = 1_024, _ body: (Output) throws -> Void) throws -> String {
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    let far = pair.takeSecond()
    try body(Output(descriptor: near.rawValue, capacity: capacity))
    var bytes: [UInt8] = []
    try UnixSocket.setNonBlocking(far.rawValue, true)
    _ = try UnixSocket.receive(far.rawValue, into: &bytes, upTo: 4_096)
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func `text is buffered until it is flushed`() throws {
    #expect(try written { try $0.write("a") } == "")
    #expect(
      try written {
        try $0.write("a")
        try $0.write("b\n")
        try $0.flush()
      } == "ab\n")
  }

  @Test func `text beyond the buffer is written`() throws {
    #expect(try written(capacity: 3) { try $0.write("abcd") } == "abcd")
    #expect(try written(capacity: 0) { try $0.write("a") } == "a")
  }

  @Test func `JSON is one line with sorted keys, plain slashes and its schema's version`() throws {
    #expect(
      try written(capacity: 0) { try $0.write(json: Point()) }
        == "{\"across\":1,\"schema\":1,\"url\":\"https://example.org/\"}\n")
  }

  @Test func `a closed reader is distinguished from a failure`() throws {
    ThisProcess.ignoreBrokenPipe()
    var pair = try UnixSocket.pair()
    let near = pair.takeFirst()
    _ = pair.takeSecond()
    let output = Output(descriptor: near.rawValue, capacity: 0)
    #expect(throws: OutputError.readerLeft) { try output.write("a") }
  }

  @Test func `a full device is a failure`() throws {
    let device = try FileIO.open(appendingTo: "/dev/full")
    let output = Output(descriptor: device.rawValue, capacity: 0)
    #expect(throws: OutputError.failed(SystemError(operation: "write", code: ENOSPC))) {
      try output.write("a")
    }
  }
}

@Suite struct ErrorReportTests {
  private static let errors: [(any Error & Sendable, String, ExitCode)] = [
    (ClientError.unreachable(socketPath: "/s", reason: "r"), "no_coordinator", .noCoordinator),
    (
      ClientError.denied(socketPath: "/s", ownerID: 7, reason: "r"), "not_permitted", .noCoordinator
    ),
    (
      ClientError.otherStore(socketPath: "/s", theirs: "/a", ours: "/b", status: nil),
      "other_data_directory",
      .wrongUse
    ),
    (ClientError.refused(.unknownJob, message: "there is no job 7"), "unknown_job", .wrongUse),
    (ClientError.refused(.stopping, message: "it is stopping"), "stopping", .noCoordinator),
    (ImageError(code: .unreachable, message: "no answer"), "no_coordinator", .noCoordinator),
    (ImageError(code: .disconnected, message: "it has gone"), "connection_lost", .noCoordinator),
    (ImageError(code: .unknownJob, message: "there is no job 7"), "unknown_job", .wrongUse),
    (UsageError("imgctl get: URL is missing"), "usage", .wrongUse),
    (SystemError(operation: "open /a", code: 2), "system", .wrongUse),
    (Failure(stage: .store, code: .internal, detail: "d"), "internal", .wrongUse),
  ]

  @Test(arguments: errors.indices)
  func `an error has an exit code, a code for scripts and a sentence`(index: Int) throws {
    let (error, code, exitCode) = Self.errors[index]
    let report = try #require(ErrorReport(error))
    #expect(report.exitCode == exitCode)
    let sentence = report.line(isJSON: false)
    #expect(sentence.hasPrefix("imgctl"))
    #expect(sentence.hasSuffix("; see imgctl list\n") == (code == "unknown_job"))
    #expect(
      report.line(isJSON: true)
        == #"{"error":{"code":"\#(code)","message":"\#(sentence.dropLast())"},"schema":1}"# + "\n")
  }

  @Test func `a closed output is no error`() {
    #expect(ErrorReport(OutputError.readerLeft) == nil)
  }

  @Test func `neither form contains a password`() throws {
    let report = try #require(ErrorReport(UsageError("imgctl: http://ada:secret@h/ is no list")))
    for isJSON in [false, true] {
      #expect(!report.line(isJSON: isJSON).contains("secret"))
    }
  }

  @Test func `remove prints a refusal as JSON and removes the other jobs`() async throws {
    let result = try await ScriptedCoordinator().run(["remove", "1", "2", "--json"]) { request in
      guard case .change(let id, _, let job) = request else { return [nil] }
      return job.rawValue == 1
        ? [.refused(id, .wrongState, message: "job 1 is queued")]
        : [.job(id, .sample(2))]
    }
    #expect(
      result.messages
        == #"{"error":{"code":"wrong_state","message":"imgctl: job 1 is queued"},"schema":1}"#
        + "\n")
    #expect(try result.decodedLines(ImageJob.self) == [.sample(2)])
  }
}
