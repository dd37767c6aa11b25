package import ImgModel

/// Describes a ``Wait`` in words.
package struct WaitText: Sendable {
  private let wait: Wait
  /// As commands name it.
  private let job: String
  private let now: WallTime
  private var tellsRemedy = true

  /// - Parameter job: that waits; `nil` if it is not known.
  package init(_ wait: Wait, of job: JobID? = nil, at now: WallTime) {
    self.wait = wait
    self.job = job?.description ?? "JOB"
    self.now = now
  }

  /// A clause such as `example.org answered 503, next attempt in 0:42`.
  package var text: String {
    HumanText.printable(reason + end) + others
  }

  /// The same without what can be done about it, where that is told beside it: the first clause.
  package var cause: String {
    guard wait.kind == .storePinned else { return text }
    let end = [" (", "; "].compactMap { text.firstRange(of: $0)?.lowerBound }.min()
    return String(text[..<(end ?? text.endIndex)])
  }

  /// The same without what can be done about it, for a wait that was told before.
  package var repeated: WaitText {
    var text = self
    text.tellsRemedy = false
    return text
  }

  /// What can be done about the wait, if that is to be told.
  private func remedy(_ text: String) -> String { tellsRemedy ? text : "" }

  /// A text whose first clause is the cause. What follows it is advice.
  private func advised(_ text: String) -> String {
    tellsRemedy ? text : String(text[..<(text.firstRange(of: "; ")?.lowerBound ?? text.endIndex)])
  }

  private var reason: String {
    switch wait.kind {
    case .draining: "the coordinator is stopping"
    case .noWorker: "no worker is ready: \(advised(wait.detail ?? ""))"
    case .workerStarting: "the workers are starting"
    case .journal: advised(wait.detail ?? "the journal cannot be written")
    case .paused: "the job is paused until imgctl resume \(job)"
    case .delayed: "the job is delayed"
    case .lookingUp: "URLs are being looked up in the store"
    case .recording: "outcomes are being written to the journal"
    case .reading: "the list is being read"
    case .storePinned:
      advised(
        wait.detail ?? "pins use up the store"
          + remedy(" (imgctl export JOB DIR, imgctl unpin JOB, or --store-budget)"))
    case .localFiles: wait.detail ?? "the files are read by the command that named them"
    case .transfersFull: "all transfer slots are in use\(remedy(" (--transfers)"))"
    case .slowLine: advised(wait.detail ?? "a slow line")
    case .workersBusy: "all workers are busy"
    case .otherJobs: "more urgent jobs run first"
    case .offline: offlineReason(wait.detail ?? "no host can be resolved or connected to")
    case .captive where wait.code == .tlsFailure:
      "many hosts answer with foreign certificates"
        + remedy(" (a login page of the network? or imgctl stop && imgctl start --ca-file FILE)")
        + course
    case .captive:
      "many hosts answer with web pages\(remedy(" (a login page of the network?)"))\(course)"
    case .bandwidth: "transfers from \(wait.host ?? "all hosts") are held by \(wait.detail ?? "")"
    case .retryAfter, .hostFailing, .robots, .hostRate, .crawlDelay, .hostFull, .backoff,
      .resolving, .connecting, .awaitingAnswer, .transferring, .decoding:
      hostReason(wait.host ?? "the host")
    }
  }

  /// A terminal may have no room for more than the cause, so that comes first. What follows it is advice.
  private func offlineReason(_ detail: String) -> String {
    let end = detail.firstRange(of: "; ")?.lowerBound ?? detail.endIndex
    let comma = course.isEmpty ? "" : ","
    return "offline: \(detail[..<end])\(comma)\(course)\(remedy(String(detail[end...])))"
  }

  private func hostReason(_ host: String) -> String {
    switch wait.kind {
    case .retryAfter: "\(host) sent Retry-After"
    case .hostFailing, .backoff: failure(of: host)
    case .robots: "the robots.txt of \(host) is being fetched"
    case .hostRate where wait.code != nil: failure(of: host)
    case .hostRate: "\(host) has reached --rate-per-host"
    case .crawlDelay: wait.detail ?? "\(host) asks for time between requests"
    case .hostFull: "\(host) has reached --transfers-per-host"
    case .resolving: wait.detail ?? "the address of \(host) is being looked up"
    case .connecting: wait.detail ?? "a connection to \(host) is being established"
    case .awaitingAnswer: wait.detail ?? "\(host) has not answered yet"
    case .transferring: wait.detail ?? "a transfer from \(host) is running"
    case .decoding: "a picture of \(host) is being decoded"
    default: host
    }
  }

  private func failure(of host: String) -> String {
    switch wait.code {
    case .truncatedBody: return "\(host) broke off a picture"
    case .httpStatus, nil:
      if let status = wait.httpStatus { return "\(host) answered \(status)" }
      if wait.code == nil, wait.kind == .backoff, let detail = wait.detail { return detail }
    case .invalidResponse: return "\(host) sent no valid answer"
    default: break
    }
    return "\(host) fails" + (wait.detail.map { " (\($0))" } ?? "")
  }

  /// The time of the next attempt, or the duration so far.
  private var end: String {
    if wait.kind == .captive { return trial + remedy(wait.detail.map { "; \($0)" } ?? "") }
    if wait.isOfNetwork { return trial }
    if let until = wait.until { return ", \(next) in \(countdown(now.duration(to: until)))" }
    if wait.kind == .hostFailing { return ", and a transfer is probing it" }
    return wait.since == nil ? "" : ",\(course)"
  }

  /// For how long it has gone on; empty if that is not known.
  private var course: String {
    let passed = wait.since.map { $0.duration(to: now).components.seconds }
    return passed.map { " for \(HumanText.stopwatch(seconds: max($0, 0)))" } ?? ""
  }

  /// Which host is tried, and when.
  private var trial: String {
    guard let until = wait.until else { return wait.host.map { "; trying \($0)" } ?? "" }
    let host = wait.host ?? "a host"
    return "; trying \(host) again in \(countdown(now.duration(to: until)))"
  }

  private var next: String {
    switch wait.kind {
    case .noWorker: "next start"
    case .delayed: "start"
    case .hostRate where wait.code != nil: "--rate-per-host permits the next attempt"
    case .hostRate, .crawlDelay: "next request"
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
