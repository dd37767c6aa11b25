import ImgModel
import ImgSettings
import Testing

@testable import ImgCommands

/// What the end of a job says of failures that have something in common.
@Suite struct FailureSummaryTests {
  /// The summary of job 7, whose lines failed so.
  private func summary(
    _ failures: [(url: String, Failure)], _ terms: RemedyTerms = .standard
  ) -> String {
    var record = JobRecord(
      id: JobID(rawValue: 7), options: RequestOptions(variant: .standard), state: .finished,
      counts: JobCounts(total: failures.count), submittedAt: .distantPast)
    var details = FailureDetails()
    for (url, failure) in failures {
      record.count(.failed(failure))
      details.add(LineResult(index: 0, ListLine(url), .failed(failure)))
    }
    return JobSummary(ImageJob(record), details: details, terms: terms).text
  }

  private let page = Failure(stage: .decode, code: .notAnImage, detail: Failure.pageDetail)

  private func certificate(_ detail: String) -> Failure {
    Failure(stage: .fetch, code: .tlsFailure, detail: "SSL certificate problem: \(detail)")
  }

  private func busy(_ detail: String) -> Failure {
    Failure(stage: .fetch, code: .httpStatus, httpStatus: 429, detail: detail)
  }

  @Test func `web pages in place of pictures, also of one host, are told as those of a login`() {
    let text = summary((1...100).map { ("http://a.test/\($0)", page) })
    #expect(text.contains("100 not_an_image, all at a.test: the body is an HTML page\n"))
    #expect(text.contains("100 answers were web pages"))
    #expect(text.contains("wants a login: log in, then imgctl retry 7 --all\n"))
    #expect(!summary([("http://a.test/1", page)]).contains("login"))
  }

  @Test func `the end of a cancelled job advises a retry that repeats something`() {
    var record = JobRecord(
      id: JobID(rawValue: 7), options: RequestOptions(variant: .standard), state: .cancelled,
      counts: JobCounts(total: 2), submittedAt: .distantPast)
    record.count(.failed(certificate("unknown")))
    record.count(.failed(certificate("unknown")))
    #expect(
      CancelCommand.text(of: ImageJob(record))
        == "job 7 cancelled: 0 done, 2 failed, 0 cancelled; to repeat its failures: imgctl retry 7 --all"
    )
    record.counts = JobCounts(total: 2)
    record.count(.failed(certificate("unknown")))
    record.count(.cancelled)
    #expect(CancelCommand.text(of: ImageJob(record)).hasSuffix("; to continue it: imgctl retry 7"))
  }

  @Test func `a host is told once where its robots.txt cannot be fetched`() {
    let failure = Failure(
      stage: .fetch, code: .timeout,
      detail: "\(Failure.robotsWords)https://a.test cannot be fetched: no answer")
    let text = summary((1...2).map { ("https://a.test/\($0)", failure) })
    let words = "timeout, temporary, all at a.test: the robots.txt cannot be fetched: no answer\n"
    #expect(text.contains(words), "\(text)")
  }

  @Test func `foreign certificates of several hosts are told as those of a login`() {
    let hosts = summary(["a", "b"].map { ("https://\($0).test/", certificate("self-signed")) })
    let remedy =
      "foreign certificates; if the network wants a login: log in; else to trust another authority: "
      + "imgctl stop && imgctl start --ca-file FILE && imgctl retry 7 --all (the file replaces the authorities of the "
      + "system)\n"
    #expect(hosts.contains(remedy))
    let notAsked = certificate("self-signed").ofLineNotAsked
    let all = summary(
      ["a", "b"].map { ("https://\($0).test/", certificate("self-signed")) }
        + [("https://a.test/2", notAsked)])
    #expect(all.contains(remedy))
    #expect(all.ranges(of: "imgctl retry").count == 1, "one advice\n\(all)")
    let one = summary([("https://a.test/", certificate("self-signed"))])
    #expect(!one.contains("login"))
    #expect(one.contains("--ca-file FILE"))
    let old = Failure(stage: .fetch, code: .tlsFailure, detail: "wrong version number")
    #expect(!summary([("https://a.test/", old)]).contains("--ca-file"))
  }

  @Test func `a line that is slow for several hosts is told as one`() {
    let slow = Failure(
      stage: .fetch, code: .timeout,
      detail: Failure.tooSlow(seconds: 30))
    func isTold(hosts: Int, each: Int) -> Bool {
      let failures = (0..<hosts).flatMap { host in
        (0..<each).map { ("http://\(host).test/\($0)", slow) }
      }
      return summary(failures).contains(
        "\na slow line? imgctl limits --transfers 4\n")
    }
    #expect(isTold(hosts: 4, each: 3))
    #expect(!isTold(hosts: 1, each: 12), "it may be the host")
    #expect(!isTold(hosts: 4, each: 1), "it may be chance")
  }

  @Test func `the advice for transfers that were cut off names the longest time that one needs`() {
    let failures = [60_000, 90_000].map { (length: Int) in
      (
        "http://a.test/\(length)",
        Failure(
          stage: .fetch, code: .timeout,
          detail: Failure.cutOff(after: .seconds(20), receivedByteCount: 40_000, of: length))
      )
    }
    let text = summary(failures)
    #expect(text.contains("the transfer took longer than --transfer-timeout 20s\n"))
    #expect(
      text.contains(
        "\nto give slow transfers the time that they need: imgctl stop && imgctl start "
          + "--transfer-timeout 60s && imgctl retry"))
  }

  @Test func `what a job is at for a moment alone is no line`() {
    var cadence = LineCadence()
    func line(_ wait: Wait, at second: Int) -> String? {
      let record = JobRecord(
        id: JobID(rawValue: 7), options: RequestOptions(variant: .standard), state: .queued,
        counts: JobCounts(total: 9), submittedAt: .distantPast)
      let status = ImageJob(record, wait: wait)
      let now = WallTime(rawValue: Int64(second) * 1_000)
      let bar = ProgressBar(status, at: .zero, wall: now)
      return cadence.line(of: status, bar, at: .seconds(second))
    }
    #expect(line(Wait(.hostFailing, host: "h"), at: 1) != nil)
    #expect(line(Wait(.transferring, host: "h", since: WallTime(rawValue: 2_500)), at: 3) == nil)
    #expect(line(Wait(.awaitingAnswer, host: "h", since: WallTime(rawValue: 2_500)), at: 4) != nil)
  }

  @Test func `the summary of a retried job tells which run its time is that of`() {
    var retries = JobRetries()
    retries.add(includesFinal: false)
    let record = JobRecord(
      id: JobID(rawValue: 7), options: RequestOptions(variant: .standard), state: .finished,
      retries: retries, submittedAt: WallTime(rawValue: 0), startedAt: WallTime(rawValue: 1_000),
      finishedAt: WallTime(rawValue: 5_000))
    let text = JobSummary(ImageJob(record)).text
    #expect(text.contains("0 B fetched in all, the last retry in 4s\n"))
  }

  @Test func `names without addresses are told without one of the hosts`() {
    func unresolved(_ host: String, isAsked: Bool) -> (String, Failure) {
      let words = isAsked ? "" : "\(host) \(Failure.notAskedWords): "
      let detail = "\(words)Could not resolve host: \(host)"
      return (
        "http://\(host)/\(isAsked)", Failure(stage: .fetch, code: .dnsFailure, detail: detail)
      )
    }
    let failures = ["a.test", "b.test"].flatMap { host in
      [true, false].map { unresolved(host, isAsked: $0) }
    }
    let text = summary(failures)
    #expect(text.contains("  4 dns_failure, temporary, at 2 hosts: Could not resolve host\n"))
    #expect(text.contains("\nno host has an address: is the resolver or the VPN right?\n"))
    #expect(!summary(Array(failures.prefix(2))).contains("VPN"), "one host")
    #expect(!summary(failures + [("http://c.test/", busy("429"))]).contains("VPN"))
  }

  @Test func `the advice for refused addresses names the smallest networks with them`() throws {
    func refused(_ address: String) -> (String, Failure) {
      let detail =
        "\(address) is refused: private; to permit it: imgctl stop && imgctl start "
        + "--allow-network \(address), beside the networks that imgctl config show lists"
      return ("http://a.test/", Failure(stage: .fetch, code: .blockedAddress, detail: detail))
    }
    let one = summary([refused("10.0.0.9"), refused("10.0.0.9")])
    #expect(
      one.contains(
        "permit this network: imgctl stop && imgctl start --allow-network 10.0.0.9/32 &&"))
    let several = summary(["10.0.0.9", "192.168.1.1", "10.0.0.1", "fd00::1"].map(refused))
    #expect(
      several.contains(
        "permit these networks: imgctl stop && imgctl start --allow-network 10.0.0.0/28 "
          + "--allow-network 192.168.1.1/32 --allow-network fd00::1/128 && imgctl retry 7 --all;"))

    let permitted = try [NetworkRange(parsing: "10.0.0.0/8")]
    func text(_ addresses: String..., isOfService: Bool = false) -> String {
      let terms = RemedyTerms(isOfService: isOfService, permittedNetworks: permitted)
      return summary(addresses.map(refused), terms)
    }
    #expect(
      text("10.0.0.9").contains("the refused addresses are permitted now: imgctl retry 7 --all\n"))
    #expect(
      text("10.0.0.9", "192.168.1.1").contains("imgctl start --allow-network 192.168.1.1/32 &&"))
    #expect(
      text("fd00::1", "192.168.1.1", isOfService: true).contains(
        "set IMGCTL_ALLOW_NETWORK=192.168.1.1/32,fd00::1/128 in /etc/default/imgctl, beside what it has there; "
          + "systemctl restart imgcoordinator; imgctl retry 7 --all\n"))
  }

  @Test func `advice is told apart from what has happened, and a list of failures is not advised`()
  {
    let blocked = Failure(
      stage: .fetch, code: .blockedAddress,
      detail: "10.0.0.1 is refused: private; to permit it: imgctl stop && imgctl start")
    #expect(blocked.sentence == "10.0.0.1 is refused: private")
    let output = Output(descriptor: 1)
    let service = CommandContext(
      settings: Settings(socketPath: "/run/imgctl/control.sock", dataDirectory: "/nowhere"),
      output: output, messages: output)
    #expect(
      service.text(of: blocked)
        == "blocked_address: 10.0.0.1 is refused: private; to permit it: set IMGCTL_ALLOW_NETWORK=CIDR in "
        + "/etc/default/imgctl, then: systemctl restart imgcoordinator")
    var record = JobRecord(
      id: JobID(rawValue: 7), options: RequestOptions(variant: .standard), state: .finished,
      counts: JobCounts(total: 1), submittedAt: .distantPast)
    record.count(.failed(blocked))
    let remedies = FailureReport(ImageJob(record)).remedies(areFailuresListed: true)
    #expect(remedies.count == 1)
    #expect(remedies.first?.contains("imgctl start --allow-network ") == true)
  }

  @Test func `the most frequent reasons have their own numbers`() {
    let causes = ["expired", "self-signed", "self-signed"].map {
      ("https://a.test/", certificate($0))
    }
    #expect(
      summary(causes).contains(
        "SSL certificate problem: self-signed (2), expired (1)\n"))
    #expect(summary([causes[0], causes[1]]).contains("problem: expired, self-signed\n"))
    let waiting = busy(
      "a.test \(Failure.notAskedWords): the origin answered 503, and the URL itself failed before: no"
    )
    let attempted = [1, 2, 3].map { busy("the origin answered 429, the last of \($0) attempts") }
    #expect(
      summary(attempted.map { ("http://a.test/", $0) }).contains(
        "all at a.test: the origin answered 429\n"))
    #expect(
      summary((attempted + [waiting]).map { ("http://a.test/", $0) }).contains(
        ": the origin answered 429 (3), 503 (1)\n"))
    let many = [500, 500, 502, 503, 504, 520].map {
      ("http://a.test/", busy("the origin answered \($0)"))
    }
    #expect(
      summary(many).contains(
        ": the origin answered 500 (2), 502 (1), 503 (1), 504 (1), and others\n"))
    let long = ["a", "b", "c"].map { busy(String(repeating: $0, count: 60)) }
    #expect(
      summary(long.map { ("http://a.test/", $0) }).contains(": \(long[0].detail), and others\n"))
  }

  @Test func `a failure that is remembered counts among those of its kind`() {
    let gone = "the origin answered 404"
    let failures = [gone, "\(gone) at 2026-11-28T09:00:00Z\(Failure.rememberedWords)"].map {
      ("http://a.test/", Failure(stage: .fetch, code: .httpStatus, httpStatus: 404, detail: $0))
    }
    #expect(summary(failures).contains("2 http_status, all at a.test: \(gone)\n"))
  }

  @Test func `where the password of a proxy goes is said`() {
    let failure = Failure(
      stage: .fetch, code: .proxyFailure,
      detail: "the proxy http://p:1: it asks for credentials (407); to give them: imgctl stop")
    #expect(
      summary([("http://a.test/", failure), ("http://b.test/", failure)]).contains(
        "\nproxy_failure: to give them: imgctl stop\n"))
  }
}

extension Failure {
  /// The same of a URL that was not requested any more.
  fileprivate var ofLineNotAsked: Failure {
    Failure(
      stage: stage, code: code, isRetryable: true, detail: "a.test \(Self.notAskedWords): \(detail)"
    )
  }
}

@Suite struct WaitNotesTests {
  private static func moment(_ second: Int64) -> WallTime { WallTime(rawValue: second * 1_000) }

  @Test func `a host at its rate limit is noted once`() {
    var notes = WaitNotes()
    let first = notes.note(
      on: Wait(.hostRate, host: "h", until: Self.moment(1)), at: Self.moment(0))
    #expect(first == "waiting: h has reached --rate-per-host, next request in 0:01\n")
    let second = notes.note(
      on: Wait(.hostRate, host: "h", until: Self.moment(2)), at: Self.moment(1))
    #expect(second == nil)
  }

  @Test func `another host and another reason are noted`() {
    var notes = WaitNotes()
    let waits = [
      Wait(.hostRate, host: "h"), Wait(.hostRate, host: "other"), Wait(.hostFull, host: "other"),
      Wait(.hostRate, host: "other"),
    ]
    for wait in waits {
      #expect(notes.note(on: wait, at: Self.moment(0)) != nil, "\(wait)")
    }
  }

  @Test func `an outage is noted once and then once a minute, whichever host it is tried with`() {
    var notes = WaitNotes()
    let times = (Int64(0)...125).filter { second in
      let wait = Wait(
        .offline, host: "h\(second)", since: Self.moment(0), until: Self.moment(second + 1))
      return notes.note(on: wait, at: Self.moment(second)) != nil
    }
    #expect(times == [0, 60, 120])
    #expect(notes.note(on: Wait(.offline, detail: "the proxy"), at: Self.moment(126)) != nil)
  }

  @Test func `each retry is noted`() {
    var notes = WaitNotes()
    for attempt in 2...3 {
      let wait = Wait(.backoff, host: "h", httpStatus: 503, attempt: attempt)
      #expect(notes.note(on: wait, at: Self.moment(0)) != nil)
    }
  }
}

@Suite struct WaitTextTests {
  private static let now = WallTime(rawValue: 1_000_000)

  private static func text(_ wait: Wait) -> String {
    WaitText(wait, of: JobID(rawValue: 7), at: now).text
  }

  private static func later(_ seconds: Int64) -> WallTime {
    now.advanced(by: .seconds(seconds))
  }

  private static let examples: [(Wait, String)] = [
    (
      Wait(.hostFailing, host: "example.org", httpStatus: 503, until: later(42)),
      "example.org answered 503, next attempt in 0:42"
    ),
    (
      Wait(.hostFailing, host: "example.org", detail: "no answer", until: later(42)),
      "example.org fails (no answer), next attempt in 0:42"
    ),
    (
      Wait(.hostFailing, host: "example.org", httpStatus: 503),
      "example.org answered 503, and a transfer is probing it"
    ),
    (
      Wait(.retryAfter, host: "example.org", moreHosts: 2, until: later(300)),
      "example.org sent Retry-After, next attempt in 5:00 (and 2 more hosts)"
    ),
    (
      Wait(.backoff, host: "example.org", httpStatus: 429, attempt: 2, until: later(3)),
      "example.org answered 429, attempt 2 in 0:03"
    ),
    (
      Wait(.hostRate, host: "example.org", until: later(1)),
      "example.org has reached --rate-per-host, next request in 0:01"
    ),
    (
      Wait(.hostRate, host: "h", detail: "refused", code: .connectFailure, until: later(1)),
      "h fails (refused), --rate-per-host permits the next attempt in 0:01"
    ),
    (
      Wait(.backoff, host: "h", detail: "a worker ended", attempt: 1, until: later(3)),
      "a worker ended, attempt 1 in 0:03"
    ),
    (Wait(.slowLine, detail: "slow; start"), "slow; start"),
    (
      Wait(.robots, host: "example.org", since: later(-4)),
      "the robots.txt of example.org is being fetched, for 0:04"
    ),
    (
      Wait(.transferring, host: "example.org", since: later(-12)),
      "a transfer from example.org is running, for 0:12"
    ),
    (
      Wait(
        .transferring, host: "example.org",
        detail: "56 transfers are running, the first from example.org", since: later(-12)),
      "56 transfers are running, the first from example.org, for 0:12"
    ),
    (
      Wait(.awaitingAnswer, host: "h", detail: "h and 2 other hosts have not answered yet"),
      "h and 2 other hosts have not answered yet"
    ),
    (
      Wait(.decoding, host: "example.org", since: now.advanced(by: .milliseconds(-1_990))),
      "a picture of example.org is being decoded, for 0:01"
    ),
    (
      Wait(.noWorker, detail: "imgworker cannot be started", until: later(5)),
      "no worker is ready: imgworker cannot be started, next start in 0:05"
    ),
    (
      Wait(.backoff, host: "h", code: .truncatedBody, httpStatus: 200, attempt: 2, until: later(3)),
      "h broke off a picture, attempt 2 in 0:03"
    ),
    (
      Wait(.hostFailing, host: "h", code: .httpStatus, httpStatus: 503, until: later(42)),
      "h answered 503, next attempt in 0:42"
    ),
    (
      Wait(.backoff, host: "h", detail: "no status", code: .invalidResponse, attempt: 2),
      "h sent no valid answer"
    ),
    (
      Wait(.offline, host: "h", until: later(20)),
      "offline: no host can be resolved or connected to; trying h again in 0:20"
    ),
    (
      Wait(.captive, host: "h", detail: "then retry", since: later(-20)),
      "many hosts answer with web pages (a login page of the network?) for 0:20; trying h; then "
        + "retry"
    ),
    (
      Wait(.captive, host: "h", code: .tlsFailure),
      "many hosts answer with foreign certificates (a login page of the network? or imgctl stop && imgctl start "
        + "--ca-file FILE); trying h"
    ),
    (
      Wait(.offline, host: "h", detail: "p; then", since: later(-5)),
      "offline: p, for 0:05; then; trying h"
    ),
    (Wait(.bandwidth, host: "h", detail: "-b"), "transfers from h are held by -b"),
    (Wait(.bandwidth, detail: "-b"), "transfers from all hosts are held by -b"),
    (Wait(.paused), "the job is paused until imgctl resume 7"),
    (Wait(.delayed, until: later(570)), "the job is delayed, start in 9:30"),
    (Wait(.journal, detail: "the disk is full"), "the disk is full"),
  ]

  @Test(arguments: examples)
  func `a wait has a reason and an end`(wait: Wait, text: String) {
    #expect(Self.text(wait) == text)
  }

  @Test(arguments: Wait.Kind.allCases)
  func `each kind has its own text`(kind: Wait.Kind) {
    let texts = Wait.Kind.allCases.filter { $0 != kind }.map { Self.text(Wait($0, host: "h")) }
    let text = Self.text(Wait(kind, host: "h"))
    #expect(!text.isEmpty)
    // A pause before a retry reads like a host that fails, and has a time.
    #expect([.backoff, .hostFailing].contains(kind) || !texts.contains(text))
  }

  @Test func `a time that has passed shows as zero`() {
    #expect(
      Self.text(Wait(.retryAfter, host: "h", until: Self.later(-9)))
        == "h sent Retry-After, next attempt in 0:00")
  }

  @Test func `control characters from a host are replaced`() {
    #expect(
      Self.text(Wait(.hostFailing, host: "h", detail: "a\u{1B}[2Jb"))
        == "h fails (a\u{FFFD}[2Jb), and a transfer is probing it")
  }
}
