import ImgClient
import ImgCommands
import ImgModel
import ImgWire
import Testing

/// What `imgctl failures` and `imgctl list` select and count.
@Suite(.timeLimit(.minutes(20))) struct FailuresCommandTests {
  private static func failed(
    _ code: Failure.Code, _ httpStatus: Int? = nil, isRetryable: Bool? = nil
  ) -> Failure {
    Failure(
      stage: .fetch, code: code, httpStatus: httpStatus, isRetryable: isRetryable,
      detail: "a reason; an advice")
  }

  private static let failures: [(url: String, failure: Failure)] = [
    ("https://a.example/1", failed(.httpStatus, 404)),
    ("https://a.example:81/2", failed(.timeout)),
    ("https://b.example/1", failed(.httpStatus, 503)),
    ("no URL", failed(.invalidURL)),
    ("https://a.example/3", failed(.httpStatus, 404)),
  ]

  private static let lines = failures.enumerated().map { index, entry in
    LineResult(index: index, ListLine(entry.url), .failed(entry.failure))
  }

  /// Runs a command against a coordinator whose job 7 has ``failures``.
  private func run(_ commandLine: [String]) async throws -> ScriptedCoordinator.Result {
    try await ScriptedCoordinator().run(commandLine) { request in
      switch request {
      case .job(let id, _, _): [.job(id, .sample(7))]
      case .results(let id, _): [.results(id, ResultsPage(entries: Self.lines, next: nil))]
      case .jobs(let id, _):
        [
          .jobs(
            id,
            JobsPage(
              jobs: [
                .sample(9, .queued), .sample(8, .paused), .sample(7), .sample(6, .queued),
              ], hasMore: false))
        ]
      default: [nil]
      }
    }
  }

  @Test func `failures are counted by code, with the HTTP statuses`() async throws {
    let result = try await run(["failures", "7", "--by", "code"])
    #expect(
      result.output == """
        failed  retryable  code         details
             3          1  http_status  404 (2), 503 (1)
             1          0  invalid_url  a reason
             1          1  timeout      a reason

        """)
    #expect(result.messages.isEmpty)
  }

  @Test func `failures are counted by host, with the codes`() async throws {
    let result = try await run(["failures", "7", "--by", "host"])
    #expect(
      result.output == """
        failed  retryable  host       codes
             3          1  a.example  http_status 404 (2), timeout (1)
             1          0  (no host)  invalid_url (1)
             1          1  b.example  http_status 503 (1)

        """)
  }

  @Test(arguments: [
    (["--code", "timeout,invalid_url"], [1, 3]), (["--code", "404"], [0, 4]),
    (["--code", "503", "--code", "TIMEOUT"], [1, 2]), (["--host", "A.example"], [0, 1, 4]),
    (["--host", "a.example", "--code", "http_status"], [0, 4]), (["--host", "c.example"], []),
  ])
  func `failures are selected by code, HTTP status and host`(
    options: [String], indices: [Int]
  ) async throws {
    let result = try await run(["failures", "7", "--csv"] + options)
    let rows = result.output.split(separator: "\r\n").dropFirst()
    #expect(rows.compactMap { Int($0.prefix { $0 != "," }) } == indices)
  }

  @Test func `what is selected is counted`() async throws {
    let result = try await run(["failures", "7", "--by", "host", "--code", "404", "--tsv"])
    #expect(
      result.output
        == "host\thosts\tcount\tretryable\tcodes\na.example\t\t2\t0\thttp_status 404 (2)\n")
    let json = try await run(["failures", "7", "--by", "code", "--host", "b.example", "--json"])
    #expect(
      json.output == #"{"code":"http_status","count":1,"detail":"a reason","#
        + #""http_statuses":[{"count":1,"http_status":503}],"job":7,"retryable":1,"schema":1}"#
        + "\n")
  }

  @Test(arguments: [
    (["--code", "tiemout"], "did you mean timeout?"),
    (["--code", "no"], "is not one of cancelled, "),
    (["--code", "timeout,"], "\"\" is not one of"), (["--by", "url"], "is not one of code, host"),
    (["--host", "https://h/"], "is not a host"),
  ])
  func `an unknown code, host or key is refused`(options: [String], reason: String) {
    #expect {
      try Invocation(
        arguments: ["failures", "7"] + options, environment: ["HOME": "/home/u"], userID: 1)
    } throws: {
      "\($0)".contains(reason)
    }
  }

  @Test func `hosts beyond the maximum are counted together, whatever their order`() throws {
    let hosts = ["c", "d", "a", "e", "b", "a", "b", "a"]
    var passCount = 0
    let groups = try FailureGroups(by: .host, hostMaximum: 2) { body in
      passCount += 1
      for host in hosts {
        let line = LineResult(index: 0, ListLine("http://\(host)/"), nil)
        try body(line, Self.failed(.timeout))
      }
    }
    #expect(
      groups.table.dropFirst() == [
        ["a", "", "3", "3", "timeout (3)"], ["b", "", "2", "2", "timeout (2)"],
        ["", "3", "3", "3", "timeout (3)"],
      ])
    #expect(groups.rendered(within: nil).contains("3 other hosts"))
    #expect(passCount == 2)
  }

  @Test(arguments: [
    (["--state", "queued"], [9, 6]), (["--state", "paused,finished"], [8, 7]),
    (["--limit", "2"], [9, 8]), (["--state", "queued", "--limit", "1"], [9]),
    (["--state", "damaged"], []),
  ])
  func `jobs are selected by state and by number`(options: [String], jobs: [UInt64]) async throws {
    let result = try await run(["list", "--json"] + options)
    #expect(try result.decodedLines(ImageJob.self).map(\.job.rawValue) == jobs)
  }
}
