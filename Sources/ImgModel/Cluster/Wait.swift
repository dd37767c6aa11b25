/// Why a job, a host's URLs, or the whole cluster do not move: data that crosses processes and is
/// shown to people. How it reads is `WaitText`'s matter.
package struct Wait: Hashable, Sendable, Codable {
  /// What is waited for. Kinds are added, never reused for something else.
  package enum Kind: String, CaseIterable, Sendable, Codable {
    /// The coordinator finishes what runs and begins nothing more.
    case draining
    /// No worker can be started, for the reason in ``Wait/detail``.
    case noWorker = "no_worker"
    case workerStarting = "worker_starting"
    /// The journal cannot be written, for the reason in ``Wait/detail``.
    case journal
    /// A person has to resume the job.
    case paused
    /// The job's delay.
    case delayed
    /// The host has sent Retry-After (RFC 9110 section 10.2.3).
    case retryAfter = "retry_after"
    /// The host keeps failing: its circuit breaker is open, or the one request that tells whether it
    /// may close is under way.
    case hostFailing = "host_failing"
    /// The robots.txt of an origin at the host.
    case robots
    /// A token of the host's rate.
    case hostRate = "host_rate"
    /// The host has as many transfers as one host may have.
    case hostFull = "host_full"
    /// The pause before another attempt.
    case backoff
    /// A transfer slot of the cluster.
    case transfersFull = "transfers_full"
    /// A worker that takes more.
    case workersBusy = "workers_busy"
    /// Work that is more urgent.
    case otherJobs = "other_jobs"
    /// The next lines of the list.
    case reading
    /// The store: URLs are looked up.
    case lookingUp = "looking_up"
    /// The rest of an answer.
    case transferring
    case decoding
    /// Outcomes on their way into the journal.
    case recording
  }

  package let kind: Kind
  package let host: String?
  /// A sentence for people; nothing branches on it.
  package let detail: String?
  /// What the host has answered last, where it has failed with a status.
  package let httpStatus: Int?
  /// The attempt that is waited for, counted from 1.
  package let attempt: Int?
  /// URLs at hand that wait for the host. Further ones may be in the lists.
  package let urls: Int?
  /// Other hosts that the job waits for.
  package let moreHosts: Int?
  package let since: WallTime?
  /// When it goes on, as far as that is known: of a host, its next attempt.
  package let until: WallTime?

  package init(
    _ kind: Kind, host: String? = nil, detail: String? = nil, httpStatus: Int? = nil,
    attempt: Int? = nil, urls: Int? = nil, moreHosts: Int? = nil, since: WallTime? = nil,
    until: WallTime? = nil
  ) {
    self.kind = kind
    self.host = host
    self.detail = detail
    self.httpStatus = httpStatus
    self.attempt = attempt
    self.urls = urls
    self.moreHosts = moreHosts
    self.since = since
    self.until = until
  }

  /// Whether a person who has heard of the other learns something new.
  package func isNews(after other: Wait?) -> Bool {
    kind != other?.kind || host != other?.host || until != other?.until
  }

  /// The same beside other hosts that are waited for.
  package func beside(moreHosts count: Int) -> Wait {
    Wait(
      kind, host: host, detail: detail, httpStatus: httpStatus, attempt: attempt, urls: urls,
      moreHosts: count > 0 ? count : nil, since: since, until: until)
  }

  private enum CodingKeys: String, CodingKey {
    case kind, host, detail
    case httpStatus = "http_status"
    case attempt, urls
    case moreHosts = "more_hosts"
    case since, until
  }
}
