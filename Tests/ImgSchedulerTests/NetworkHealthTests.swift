import ImgModel
import Testing

@testable import ImgScheduler

/// Whether the network works, by itself.
@Suite struct NetworkHealthTests {
  private var network: NetworkHealth
  private let start = Instant.now

  init() {
    network = NetworkHealth(Limits())
  }

  private mutating func note(
    _ evidence: NetworkEvidence, of group: String, after seconds: Int = 1
  ) -> Bool {
    network.note(evidence, of: group, at: start + .seconds(seconds))
  }

  private static let silence = NetworkEvidence.silence(isUnrouted: false)

  @Test mutating func `three silent hosts without an answer are an outage, from the first on`() {
    for group in ["a", "b", "c"] {
      #expect(network.outage == nil)
      #expect(note(Self.silence, of: group))
    }
    #expect(network.outage?.kind == .offline)
  }

  @Test(arguments: [NetworkEvidence.answer, .response, .page, .foreignCertificate])
  mutating func `an answer of any host shows that the network works`(evidence: NetworkEvidence) {
    for group in ["a", "b", "c", "d"] {
      _ = note(Self.silence, of: group)
      #expect(!note(evidence, of: "z"))
      #expect(network.outage == nil)
    }
  }

  @Test mutating func `one silent host fails by itself`() {
    for count in 1...30 {
      let isHeld = note(Self.silence, of: "a")
      #expect(isHeld == (count <= NetworkHealth.suspectedSilenceCount))
    }
    #expect(network.outage == nil)
  }

  @Test mutating func `one silent host is enough without any route`() {
    #expect(note(.silence(isUnrouted: true), of: "a"))
    #expect(network.outage?.kind == .offline)
  }

  @Test mutating func `what says nothing holds nothing up, except in an outage`() {
    #expect(!note(.none, of: "a"))
    _ = note(.silence(isUnrouted: true), of: "a")
    #expect(note(.none, of: "b"))
    #expect(!note(.answer, of: "b"))
    #expect(!note(.none, of: "b"))
  }

  @Test(arguments: [NetworkEvidence.page, .foreignCertificate])
  mutating func `pages or certificates of three hosts within a minute are those of the network`(
    evidence: NetworkEvidence
  ) {
    #expect(!note(evidence, of: "a", after: 0))
    #expect(!note(evidence, of: "b", after: 61))
    #expect(!note(.page, of: "a", after: 62))
    #expect(note(evidence, of: "c", after: 63))
    #expect(network.outage?.kind == .captive)
    #expect(network.outage?.isOfCertificates == (evidence == .foreignCertificate))
    // The portal resolves names and redirects.
    #expect(note(.answer, of: "d", after: 64))
    #expect(!note(.response, of: "d", after: 65))
    #expect(network.outage == nil)
  }

  @Test(arguments: [NetworkEvidence.page, .foreignCertificate])
  mutating func `a response meanwhile shows that they are the hosts' own`(
    evidence: NetworkEvidence
  ) {
    for group in ["a", "b", "c", "d"] {
      #expect(!note(evidence, of: group))
      #expect(!note(.response, of: "z"))
    }
  }

  @Test mutating func `one failure to reach the proxy is enough, and is told`() {
    #expect(note(.silence(isUnrouted: true, proxyFailure: "refused"), of: "a"))
    #expect(network.outage?.kind == .offline)
    #expect(network.outage?.detail == "refused")
    #expect(!note(.response, of: "b"))
    #expect(network.outage == nil)
  }

  // MARK: - Trials

  @Test mutating func `trials come less and less often, up to every thirty seconds`() {
    _ = note(.silence(isUnrouted: true), of: "a", after: 0)
    var now = start
    var waits: [Int64] = []
    for number in 1...6 {
      let next = network.deadline(after: now) ?? now
      waits.append((next - now).components.seconds)
      now = next
      #expect(network.isTrialDue(at: now))
      network.beginTrial(TransferID(rawValue: UInt64(number)), of: "h")
      #expect(!network.isTrialDue(at: now))
      network.endTrial(at: now)
    }
    #expect(waits == [2, 4, 8, 16, 30, 30])
  }

  @Test mutating func `after the timeout the network is taken as it is, until it works`() {
    _ = note(.silence(isUnrouted: true), of: "a", after: 0)
    network.endWait(at: start + Limits().offlineTimeout)
    #expect(network.outage == nil)
    #expect(!note(.silence(isUnrouted: true), of: "a", after: 30_000))
    #expect(!note(.answer, of: "a", after: 30_001))
    #expect(note(.silence(isUnrouted: true), of: "a", after: 30_002))
  }

  @Test mutating func `answers of the resolver do not begin a second wait for a login`() {
    for group in ["a", "b", "c"] { _ = note(.page, of: group, after: 0) }
    network.endWait(at: start + Limits().offlineTimeout)
    _ = note(.answer, of: "a", after: 30_000)
    for group in ["a", "b", "c"] { #expect(!note(.page, of: group, after: 30_001)) }
    _ = note(.response, of: "a", after: 30_002)
    let held = ["a", "b", "c"].map { note(.page, of: $0, after: 30_003) }
    #expect(held == [false, false, true])
  }

  @Test func `a timeout of zero waits for nothing`() {
    var limits = Limits()
    limits.offlineTimeout = .zero
    var network = NetworkHealth(limits)
    let isHeld = network.note(.silence(isUnrouted: true), of: "a", at: start)
    #expect(!isHeld)
    #expect(network.outage == nil)
  }

  @Test func `pages are counted for so many hosts only`() {
    var counts = PageCounts()
    for number in 0..<2_000 { #expect(counts.note("host\(number)") == 1) }
    #expect(counts.hostCount == PageCounts.maximumHostCount)
    #expect(counts.note("host1999") == 2)
  }

  @Test func `a failed transfer shows what its sign or its code says`() {
    func failure(_ code: Failure.Code, status: Int? = nil) -> Failure {
      Failure(stage: .fetch, code: code, httpStatus: status, detail: "")
    }
    #expect(NetworkEvidence(failure(.dnsFailure), .silent) == .silence(isUnrouted: false))
    #expect(NetworkEvidence(failure(.timeout), .unrouted) == .silence(isUnrouted: true))
    #expect(NetworkEvidence(failure(.dnsFailure), .answered) == .answer)
    #expect(NetworkEvidence(failure(.dnsFailure), nil) == .none)
    #expect(NetworkEvidence(failure(.timeout), nil) == .none)
    #expect(NetworkEvidence(failure(.truncatedBody, status: 200), nil) == .none)
    #expect(NetworkEvidence(failure(.tlsFailure), nil) == .answer)
    #expect(NetworkEvidence(failure(.tlsFailure), .foreignCertificate) == .foreignCertificate)
    #expect(NetworkEvidence(failure(.httpStatus, status: 404), nil) == .response)
    #expect(NetworkEvidence(failure(.httpStatus, status: 511), nil) == .page)
    #expect(NetworkEvidence(failure(.notAnImage), .page) == .page)
    #expect(
      NetworkEvidence(failure(.proxyFailure), .unrouted)
        == .silence(isUnrouted: true, proxyFailure: ""))
    #expect(NetworkEvidence(failure(.proxyFailure), nil) == .none)
  }
}
