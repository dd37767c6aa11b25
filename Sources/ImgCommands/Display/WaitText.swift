package import ImgModel

/// Describes a ``Wait`` in words.
package struct WaitText: Sendable {
  private let wait: Wait
  private let now: WallTime

  package init(_ wait: Wait, at now: WallTime) {
    self.wait = wait
    self.now = now
  }

  /// A clause such as `example.org answered 503, next attempt in 0:42`.
  package var text: String {
    HumanText.printable(reason + end) + others
  }

  private var reason: String {
    switch wait.kind {
    case .draining: "the coordinator is stopping"
    case .noWorker: "no worker is ready: \(wait.detail ?? "")"
    case .workerStarting: "the workers are starting"
    case .journal: wait.detail ?? "the journal cannot be written"
    case .paused: "the job is paused until imgctl resume"
    case .delayed: "the job is delayed"
    case .lookingUp: "URLs are being looked up in the store"
    case .recording: "outcomes are being written to the journal"
    case .reading: "the list is being read"
    case .storePinned:
      "pinned thumbnails use up the store (imgctl export, imgctl unpin, or --store-budget)"
    case .transfersFull: "all transfer slots are in use (--transfers)"
    case .workersBusy: "all workers are busy"
    case .otherJobs: "more urgent jobs run first"
    case .retryAfter, .hostFailing, .robots, .hostRate, .hostFull, .backoff, .transferring,
      .decoding:
      hostReason(wait.host ?? "the host")
    }
  }

  private func hostReason(_ host: String) -> String {
    switch wait.kind {
    case .retryAfter: "\(host) sent Retry-After"
    case .hostFailing, .backoff: failure(of: host)
    case .robots: "the robots.txt of \(host) is being fetched"
    case .hostRate: "\(host) has reached --rate-per-host"
    case .hostFull: "\(host) has reached --transfers-per-host"
    case .transferring: "a transfer from \(host) is running"
    case .decoding: "a picture of \(host) is being decoded"
    default: host
    }
  }

  private func failure(of host: String) -> String {
    if let status = wait.httpStatus { return "\(host) answered \(status)" }
    return "\(host) fails" + (wait.detail.map { " (\($0))" } ?? "")
  }

  /// The time of the next attempt, or the duration so far.
  private var end: String {
    if let until = wait.until { return ", \(next) in \(countdown(now.duration(to: until)))" }
    if wait.kind == .hostFailing { return ", and a transfer is probing it" }
    guard let since = wait.since else { return "" }
    let passed = since.duration(to: now).components.seconds
    return ", for \(HumanText.stopwatch(seconds: max(passed, 0)))"
  }

  private var next: String {
    switch wait.kind {
    case .noWorker: "next start"
    case .delayed: "start"
    case .hostRate: "next request"
    case .backoff: wait.attempt.map { "attempt \($0)" } ?? "next attempt"
    default: "next attempt"
    }
  }

  /// Rounds the remaining time up, so that it does not show 0:00 too early.
  private func countdown(_ duration: Duration) -> String {
    HumanText.stopwatch(seconds: max(duration.secondsRoundedUp, 0))
  }

  private var others: String {
    wait.moreHosts.map { " (and \(HumanText.count($0, of: "more host")))" } ?? ""
  }
}
