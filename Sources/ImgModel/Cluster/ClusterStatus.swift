/// The whole cluster as people and programs see it, at one moment.
package struct ClusterStatus: Hashable, Sendable, Codable {
  package enum State: String, Sendable, Codable {
    case running
    /// What runs is finished, nothing new is taken.
    case draining
  }

  /// One place for a worker process.
  package struct Worker: Hashable, Sendable, Codable {
    package enum State: String, Sendable, Codable {
      case starting, ready
      /// Waiting before the next start, because the last ones failed.
      case backingOff = "backing_off"
      /// Told to leave, or gone: the cluster drains.
      case leaving
    }

    package let slot: Int
    package let processID: Int32?
    package let state: State
    /// URLs under lease in their stages.
    package let lookingUp: Int
    package let fetching: Int
    package let decoding: Int
    /// Processes of this slot that ended without being asked to.
    package let deaths: Int

    package init(
      slot: Int, processID: Int32?, state: State, lookingUp: Int, fetching: Int, decoding: Int,
      deaths: Int
    ) {
      self.slot = slot
      self.processID = processID
      self.state = state
      self.lookingUp = lookingUp
      self.fetching = fetching
      self.decoding = decoding
      self.deaths = deaths
    }

    private enum CodingKeys: String, CodingKey {
      case slot
      case processID = "pid"
      case state
      case lookingUp = "looking_up"
      case fetching, decoding, deaths
    }
  }

  package let state: State
  package let processID: Int32
  package let version: String
  package let startedAt: WallTime
  package let socketPath: String
  package let dataDirectory: String
  package let workers: [Worker]
  /// Transfers under way, of `limits.transfers`.
  package let transfers: Int
  /// Jobs that have not ended.
  package let activeJobs: Int
  /// Viewers (`get`s) that wait.
  package let viewers: Int
  /// Answers of workers for leases that were no longer theirs; they were dropped.
  package let lateAnswers: Int
  /// Fetches that ended, with a picture or aborted, when the viewers they were for had left or
  /// moved on; what came of them was dropped.
  package let discardedLate: Int
  /// Why the coordinator cannot record outcomes, in words; `nil` while it can.
  package let journalError: String?
  /// Why thumbnails cannot be stored; `nil` while no error is known.
  package let storeError: StoreErrorStatus?
  /// Why no work of any job moves; `nil` when some may.
  package let wait: Wait?
  /// The hosts that URLs wait for, those with most URLs first, at most 20.
  package let waitingHosts: [Wait]
  package let limits: Limits
  package let settings: CoordinatorSettings

  package init(
    state: State, processID: Int32, version: String, startedAt: WallTime, socketPath: String,
    dataDirectory: String, workers: [Worker], transfers: Int, activeJobs: Int, viewers: Int,
    lateAnswers: Int, discardedLate: Int, journalError: String?, storeError: StoreErrorStatus?,
    wait: Wait? = nil, waitingHosts: [Wait] = [], limits: Limits, settings: CoordinatorSettings
  ) {
    self.state = state
    self.processID = processID
    self.version = version
    self.startedAt = startedAt
    self.socketPath = socketPath
    self.dataDirectory = dataDirectory
    self.workers = workers
    self.transfers = transfers
    self.activeJobs = activeJobs
    self.viewers = viewers
    self.lateAnswers = lateAnswers
    self.discardedLate = discardedLate
    self.journalError = journalError
    self.storeError = storeError
    self.wait = wait
    self.waitingHosts = waitingHosts
    self.limits = limits
    self.settings = settings
  }

  private enum CodingKeys: String, CodingKey {
    case state
    case processID = "pid"
    case version
    case startedAt = "started_at"
    case socketPath = "socket"
    case dataDirectory = "data_directory"
    case workers, transfers
    case activeJobs = "active_jobs"
    case viewers
    case lateAnswers = "late_answers"
    case discardedLate = "discarded_late"
    case journalError = "journal_error"
    case storeError = "store_error"
    case wait
    case waitingHosts = "waiting_hosts"
    case limits, settings
  }
}
