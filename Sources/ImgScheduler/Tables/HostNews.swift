import ImgModel

/// What people are told of hosts: which are given up, and which of them answer again. A list may have thousands of
/// dead hosts, so there are some dozens of lines at once, and one in two seconds after them.
struct HostNews {
  private static let rate = TransferRate(perMinute: 30, burst: 60)
  /// So many hosts are remembered. A host that is forgotten may be told again.
  private static let hostMaximum = 4_096

  /// The hosts that are given up.
  private var hosts: Set<String> = []
  private var lines: [String] = []
  private var omittedCount = 0
  private var bucket = TokenBucket()

  /// A host is down, see ``HostHealth``. It is told once until the host answers.
  ///
  /// - Parameter urlCount: the URLs that wait for it.
  mutating func noteGivenUp(
    _ host: String, because failure: Failure, urlCount: Int, at now: Instant
  ) {
    if hosts.count >= Self.hostMaximum { hosts = [] }
    guard hosts.insert(host).inserted else { return }
    let reason = "\(host) \(Failure.notAskedWords) (\(failure))"
    tell("\(reason); URLs that waited for it: \(urlCount)", at: now)
  }

  /// A host has answered.
  mutating func noteAnswer(of host: String, at now: Instant) {
    guard !hosts.isEmpty, hosts.remove(host) != nil else { return }
    tell("\(host) answers again", at: now)
  }

  private mutating func tell(_ line: String, at now: Instant) {
    if let next = bucket.nextToken(at: Self.rate), next > now {
      omittedCount += 1
      return
    }
    bucket.take(at: now, rate: Self.rate)
    let omission =
      omittedCount == 0 ? "" : "; lines on hosts before this one, not shown: \(omittedCount)"
    omittedCount = 0
    lines.append(line + omission)
  }

  /// The lines since the last call.
  mutating func take() -> [String] {
    defer { lines = [] }
    return lines
  }
}
