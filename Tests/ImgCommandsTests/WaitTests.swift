import ImgModel
import Testing

@testable import ImgCommands

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

  private static func text(_ wait: Wait) -> String { WaitText(wait, at: now).text }

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
      Wait(.robots, host: "example.org", since: later(-4)),
      "the robots.txt of example.org is being fetched, for 0:04"
    ),
    (
      Wait(.transferring, host: "example.org", since: later(-12)),
      "a transfer from example.org is running, for 0:12"
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
      "many hosts answer with foreign certificates (a login page of the network? or imgctl stop; imgctl start "
        + "--ca-file FILE); trying h"
    ),
    (
      Wait(.offline, host: "h", detail: "p; then", since: later(-5)),
      "offline: p, for 0:05; then; trying h"
    ),
    (Wait(.bandwidth, host: "h", detail: "-b"), "transfers from h are held by -b"),
    (Wait(.bandwidth, detail: "-b"), "transfers from all hosts are held by -b"),
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
