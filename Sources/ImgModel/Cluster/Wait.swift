/// Why a job, a host or the whole cluster does not progress. Processes exchange it; `WaitText` turns
/// it into a sentence.
package struct Wait: Hashable, Sendable, Fielded {
  /// The reason. New kinds may be added; a kind never changes its meaning.
  package enum Kind: String, CaseIterable, Sendable, FieldValue {
    /// The coordinator finishes its leases and starts nothing more.
    case draining
    /// No worker can start. ``Wait/detail`` says why.
    case noWorker = "no_worker"
    case workerStarting = "worker_starting"
    /// The journal cannot be written. ``Wait/detail`` says why.
    case journal
    /// A user paused the job.
    case paused
    /// No host can be resolved or connected to, or nothing arrives from any, as ``Wait/detail`` says.
    /// ``Wait/host`` is tried next.
    case offline
    /// Many hosts answer with web pages in place of pictures, or with foreign certificates (``Wait/code`` is
    /// `tls_failure`): the network may want a login first. ``Wait/host`` is tried next.
    case captive
    /// The job's delay is not over.
    case delayed
    /// The host is in a cooldown after Retry-After (RFC 9110 section 10.2.3).
    case retryAfter = "retry_after"
    /// The host's circuit breaker is open, or half-open with its trial request in progress.
    case hostFailing = "host_failing"
    /// The robots.txt of an origin at the host is not known yet.
    case robots
    /// The host's token bucket is empty. ``Wait/code`` says what the host has failed with, if it has not answered since.
    case hostRate = "host_rate"
    /// The time between requests that the host's robots.txt asks for is not over. ``Wait/detail`` says how
    /// long it is.
    case crawlDelay = "crawl_delay"
    /// Limits of bandwidth hold the transfers of the host; without one those of the cluster, which take all slots.
    /// ``Wait/detail`` names the limits.
    case bandwidth
    /// All transfer slots of the host are in use.
    case hostFull = "host_full"
    /// The backoff before the next attempt.
    case backoff
    /// Pinned thumbnails use up the store, and the job pins its own, see ``PinPolicy``.
    case storePinned = "store_pinned"
    /// The command that submitted the job is to read its files. ``Wait/detail`` says what to do.
    case localFiles = "local_files"
    /// All transfer slots of the cluster are in use.
    case transfersFull = "transfers_full"
    /// The line of this machine is slow, so fewer transfers run at once than the limits permit. ``Wait/detail`` says
    /// how many.
    case slowLine = "slow_line"
    /// No worker has credits left.
    case workersBusy = "workers_busy"
    /// More urgent work comes first.
    case otherJobs = "other_jobs"
    /// The journal reads the next lines of the list.
    case reading
    /// Workers look URLs up in the store.
    case lookingUp = "looking_up"
    /// The address of the host is looked up. ``Wait/detail`` says so if it is not the only host; that holds for
    /// the two kinds that follow, too.
    case resolving
    /// A connection to the host is established.
    case connecting
    /// The host has got a request, and not answered yet.
    case awaitingAnswer = "awaiting_answer"
    /// Responses are in progress. ``Wait/detail`` says how many if they are several.
    case transferring
    case decoding
    /// The journal records outcomes.
    case recording
  }

  package let kind: Kind
  package let host: String?
  /// A sentence for people. Programs must not interpret it.
  package let detail: String?
  /// What the host or the URL failed with last.
  package let code: ImageError.Code?
  /// The last status of the host, if it failed with a status.
  package let httpStatus: Int?
  /// The number of the next attempt, from 1.
  package let attempt: Int?
  /// The URLs in memory that wait for the host. The lists may have more.
  package let urls: Int?
  /// The number of other hosts that the job waits for.
  package let moreHosts: Int?
  package let since: WallTime?
  /// The end of the wait, if it is known. For a host, this is its next attempt.
  package let until: WallTime?

  package init(
    _ kind: Kind, host: String? = nil, detail: String? = nil, code: ImageError.Code? = nil,
    httpStatus: Int? = nil, attempt: Int? = nil, urls: Int? = nil, moreHosts: Int? = nil,
    since: WallTime? = nil,
    until: WallTime? = nil
  ) {
    self.kind = kind
    self.host = host
    self.detail = detail
    self.code = code
    self.httpStatus = httpStatus
    self.attempt = attempt
    self.urls = urls
    self.moreHosts = moreHosts
    self.since = since
    self.until = until
  }

  /// Whether no host is asked for jobs, see ``Kind/offline`` and ``Kind/captive``.
  package var isOfNetwork: Bool {
    kind == .offline || kind == .captive
  }

  /// Whether this wait differs enough from the last reported one to be reported.
  package func isNews(after other: Wait?) -> Bool {
    kind != other?.kind || host != other?.host || until != other?.until
  }

  /// What stays the same while the time of the next attempt changes, the host with which the network is tried, which one
  /// of several hosts is the next, or the number of transfers.
  package var reason: [String] {
    let causes = [kind.rawValue, code?.rawValue ?? "", "\(httpStatus ?? 0)"]
    guard !isOfNetwork, !isOfSeveralHosts else {
      return causes + [kind == .offline ? detail ?? "" : ""]
    }
    return causes + [host ?? "", detailWithoutCounts, "\(attempt ?? 0)"]
  }

  /// Whether another of its hosts may be named at any time.
  private var isOfSeveralHosts: Bool {
    moreHosts ?? 0 > 0 || Self.kindsOfTransfers.contains(kind) && detail != nil
  }

  /// The kinds whose ``detail`` is how many hosts or transfers they concern.
  private static let kindsOfTransfers: Set<Kind> = [
    .resolving, .connecting, .awaitingAnswer, .transferring,
  ]

  /// The ``detail`` without a number of transfers, which the first clause of a slow line tells.
  private var detailWithoutCounts: String {
    guard let detail, kind == .slowLine else { return detail ?? "" }
    return detail.firstRange(of: "; ").map { String(detail[$0.upperBound...]) } ?? ""
  }

  /// The wait with another ``detail``.
  package func explained(_ detail: String) -> Wait {
    Wait(
      kind, host: host, detail: detail, code: code, httpStatus: httpStatus, attempt: attempt,
      urls: urls, moreHosts: moreHosts, since: since, until: until)
  }

  /// The wait with the number of other hosts that the job waits for.
  package func beside(moreHosts count: Int) -> Wait {
    Wait(
      kind, host: host, detail: detail, code: code, httpStatus: httpStatus, attempt: attempt,
      urls: urls,
      moreHosts: count > 0 ? count : nil, since: since, until: until)
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    attempt = try f.optional("attempt", value?.attempt)
    code = try f.optional("code", value?.code)
    detail = try f.optional("detail", value?.detail)
    host = try f.optional("host", value?.host)
    httpStatus = try f.optional("http_status", value?.httpStatus)
    kind = try f.field("kind", value?.kind)
    moreHosts = try f.optional("more_hosts", value?.moreHosts)
    since = try f.optional("since", value?.since)
    until = try f.optional("until", value?.until)
    urls = try f.optional("urls", value?.urls)
  }
}
