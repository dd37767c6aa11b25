import ImgModel
import ImgSettings
import Testing

@testable import ImgCommands

/// What the end of a job says of failures that have something in common.
@Suite struct FailureSummaryTests {
  /// The summary of job 7, whose lines failed so.
  private func summary(_ failures: [(url: String, Failure)]) -> String {
    var record = JobRecord(
      id: JobID(rawValue: 7), options: RequestOptions(variant: .standard), state: .finished,
      counts: JobCounts(total: failures.count), submittedAt: .distantPast)
    var details = FailureDetails()
    for (url, failure) in failures {
      record.count(.failed(failure))
      details.add(LineResult(index: 0, place: nil, url: url, outcome: .failed(failure)))
    }
    return JobSummary(ImageJob(record), details: details).text
  }

  private func page(_ number: Int) -> Failure {
    Failure(
      stage: .decode, code: .notAnImage,
      detail: Failure.pageDetail + (number == 1 ? "" : ", one of \(number) such pages of a.test"))
  }

  private func certificate(_ detail: String) -> Failure {
    Failure(stage: .fetch, code: .tlsFailure, detail: "SSL certificate problem: \(detail)")
  }

  private func busy(_ detail: String) -> Failure {
    Failure(stage: .fetch, code: .httpStatus, httpStatus: 429, detail: detail)
  }

  @Test func `web pages in place of pictures, also of one host, are told as those of a login`() {
    let text = summary((1...100).map { ("http://a.test/\($0)", page($0)) })
    #expect(text.contains("100 not_an_image, all at a.test: the body is an HTML page\n"))
    #expect(text.contains("100 answers were web pages"))
    #expect(text.contains("wants a login: log in, then imgctl retry 7 --all\n"))
    #expect(!summary([("http://a.test/1", page(1))]).contains("login"))
  }

  @Test func `foreign certificates of several hosts are told as those of a login`() {
    let hosts = summary(["a", "b"].map { ("https://\($0).test/", certificate("self-signed")) })
    let remedy =
      "foreign certificates; if the network wants a login: log in; else to trust another authority: "
      + "imgctl stop; imgctl start --ca-file FILE (the file replaces the authorities of the system); "
      + "then imgctl retry 7 --all\n"
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
      detail: "Operation too slow. Less than 1024 bytes/sec transferred the last 30 seconds")
    func isTold(hosts: Int, each: Int) -> Bool {
      let failures = (0..<hosts).flatMap { host in
        (0..<each).map { ("http://\(host).test/\($0)", slow) }
      }
      return summary(failures).contains(
        "\na slow line? imgctl limits --transfers 4; imgctl retry 7\n")
    }
    #expect(isTold(hosts: 4, each: 3))
    #expect(!isTold(hosts: 1, each: 12), "it may be the host")
    #expect(!isTold(hosts: 4, each: 1), "it may be chance")
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

  @Test func `the advice for refused addresses names the smallest networks with them`() {
    func refused(_ address: String) -> (String, Failure) {
      let detail =
        "\(address) is refused: private; to permit it: imgctl stop, then imgctl start "
        + "--allow-network \(address), beside the networks that imgctl config show lists"
      return ("http://a.test/", Failure(stage: .fetch, code: .blockedAddress, detail: detail))
    }
    let one = summary([refused("10.0.0.9"), refused("10.0.0.9")])
    #expect(
      one.contains("permit this network: imgctl stop; imgctl start --allow-network 10.0.0.9/32;"))
    let several = summary(["10.0.0.9", "192.168.1.1", "10.0.0.1", "fd00::1"].map(refused))
    #expect(
      several.contains(
        "permit these networks: imgctl stop; imgctl start --allow-network 10.0.0.0/28 "
          + "--allow-network 192.168.1.1/32 --allow-network fd00::1/128; imgctl retry 7 --all;"))
  }

  @Test func `advice is told apart from what has happened, and a list of failures is not advised`()
  {
    let blocked = Failure(
      stage: .fetch, code: .blockedAddress,
      detail: "10.0.0.1 is refused: private; to permit it: imgctl stop, then imgctl start")
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

  @Test func `the most frequent reason has its own number`() {
    let causes = ["expired", "self-signed", "self-signed"].map {
      ("https://a.test/", certificate($0))
    }
    #expect(
      summary(causes).contains(
        "SSL certificate problem: self-signed (2 of them), and others\n"))
    #expect(summary([causes[0], causes[1]]).contains("problem: expired, and others\n"))
    let waiting = busy(
      "the origin answered 503; then a.test failed too often and was not asked again")
    let attempted = [1, 2, 3].map { busy("the origin answered 429, the last of \($0) attempts") }
    #expect(
      summary(attempted.map { ("http://a.test/", $0) }).contains(
        "all at a.test: the origin answered 429\n"))
    #expect(
      summary((attempted + [waiting]).map { ("http://a.test/", $0) }).contains(
        ": the origin answered 429 (3 of them), and others\n"))
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
