import ImgModel
import ImgSystem
import TestCluster
import TestOrigin
import Testing

/// A list of one host that fails a third of all requests, in every way that may pass.
@Suite(.timeLimit(.minutes(20)))
struct HostileBatchTests {
  private static let transfersPerHost = 8

  private static func number(_ variable: String) -> UInt64? {
    ThisProcess.environment[variable].flatMap { UInt64($0) }
  }

  /// `IMGCTL_TEST_THOROUGH=1` has it be a long list, which takes minutes; `IMGCTL_TEST_SEED`
  /// replays the answers of another run.
  @Test func `a list of a hostile origin finishes, within its limit and its Retry-After`() throws {
    let seed = Self.number("IMGCTL_TEST_SEED") ?? UInt64.random(in: 0..<1 << 32)
    let isThorough = Self.number("IMGCTL_TEST_THOROUGH") == 1
    let origin = try HostileOrigin(seed: seed, pictureCount: isThorough ? 2_000 : 40)
    let cluster = try Cluster([
      "ATTEMPTS": "30", "BACKOFF": "50ms", "STALL_TIMEOUT": "2s",
      "TRANSFERS_PER_HOST": "\(Self.transfersPerHost)",
    ])
    let begin = ContinuousClock.now
    let status = try cluster.finished(cluster.submit(origin.urls), within: .seconds(900))
    let duration = ContinuousClock.now - begin

    #expect(status.done == origin.urls.count, "seed \(seed)")
    #expect(status.failed == 0, "seed \(seed)")
    #expect(try cluster.imgctl("cache", "verify").exitCode == 0)
    let snapshot = origin.origin.snapshot
    let peak = peakInFlight(in: snapshot)
    #expect(peak <= Self.transfersPerHost, "seed \(seed)")
    let rests = startsInRests(of: origin, in: snapshot)
    // Requests that were on their way: at most the concurrent ones for each Retry-After.
    let starts = rests.flatMap(\.self)
    #expect(starts.count <= rests.count * Self.transfersPerHost, "seed \(seed)")
    let ranges = snapshot.paths.values.map(\.ranges.count).reduce(0, +)
    print(
      "hostile, seed \(seed): \(status.done) of \(origin.urls.count) done in \(duration), "
        + "\(snapshot.totals.requests) requests (\(tally(of: origin, in: snapshot))), \(ranges) "
        + "with a Range; peak in flight \(peak) of \(Self.transfersPerHost); within "
        + "\(rests.count) cooldowns, there were \(starts.count) requests, the latest "
        + "\(starts.max() ?? .zero) after Retry-After")
  }

  // MARK: - The origin's log

  /// Without the requests that were given up: the origin notices late that their client has left.
  private func peakInFlight(in snapshot: OriginSnapshot) -> Int {
    let aborted = Set(snapshot.log.filter { $0.kind == .aborted }.map(\.request))
    return snapshot.peakInFlight { !aborted.contains($0.request) }
  }

  /// The delays of requests that started after each Retry-After, before its end.
  private func startsInRests(of origin: HostileOrigin, in snapshot: OriginSnapshot) -> [[Duration]]
  {
    let cooldowns = Set(
      origin.answered(in: snapshot).filter { $0.answer == .retryAfter }.map(\.request.request))
    let starts = snapshot.starts().map(\.moment)
    return snapshot.log.filter { $0.kind == .landed && cooldowns.contains($0.request) }.map {
      cooldown in
      starts.map { $0 - cooldown.moment }
        .filter { .zero < $0 && $0 < .seconds(HostileOrigin.retryAfterSeconds) }
    }
  }

  private func tally(of origin: HostileOrigin, in snapshot: OriginSnapshot) -> String {
    let answers = origin.answered(in: snapshot).map(\.answer)
    return HostileOrigin.Answer.allCases
      .map { kind in "\(answers.count { $0 == kind }) \(kind)" }
      .joined(separator: ", ")
  }
}
