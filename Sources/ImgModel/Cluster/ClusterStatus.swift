/// A snapshot of the whole cluster for people and programs.
package struct ClusterStatus: Hashable, Sendable, Codable {
  package enum State: String, Sendable, Codable {
    case running
    /// The cluster finishes its leases and starts nothing more.
    case draining
  }

  /// The worker of a number. When its process exits, another process takes the number.
  package struct Worker: Hashable, Sendable, Codable {
    package enum State: String, Sendable, Codable {
      case starting, ready
      /// The supervisor waits before the next start, because the last starts failed.
      case backingOff = "backing_off"
      /// The cluster drains: the worker finishes, or has exited.
      case leaving
    }

    /// The processes of a worker's number.
    package struct Processes: Hashable, Sendable {
      package let worker: Int32?
      package let decoders: [Int32]
      /// The number of unexpected exits of decoders under this number.
      package let decoderDeaths: Int

      package init(worker: Int32?, decoders: [Int32] = [], decoderDeaths: Int = 0) {
        self.worker = worker
        self.decoders = decoders
        self.decoderDeaths = decoderDeaths
      }
    }

    package let number: Int
    package let processID: Int32?
    package let decoderProcessIDs: [Int32]
    package let state: State
    /// The number of leased URLs in each stage.
    package let lookingUp: Int
    package let fetching: Int
    package let decoding: Int
    /// The number of unexpected exits of workers under this number.
    package let deaths: Int
    /// The number of unexpected exits of their decoders.
    package let decoderDeaths: Int

    package init(
      number: Int, processes: Processes, state: State, lookingUp: Int, fetching: Int, decoding: Int,
      deaths: Int
    ) {
      self.number = number
      processID = processes.worker
      decoderProcessIDs = processes.decoders
      decoderDeaths = processes.decoderDeaths
      self.state = state
      self.lookingUp = lookingUp
      self.fetching = fetching
      self.decoding = decoding
      self.deaths = deaths
    }

    private enum CodingKeys: String, CodingKey {
      case number
      case processID = "pid"
      case decoderProcessIDs = "decoder_pids"
      case state
      case lookingUp = "looking_up"
      case fetching, decoding, deaths
      case decoderDeaths = "decoder_deaths"
    }
  }

  /// What confines the processes of each kind; `nil` while none has reported it.
  package struct Sandboxes: Hashable, Sendable, Codable {
    package let coordinator: SandboxReport?
    /// Of all workers together.
    package let workers: SandboxReport?
    /// Of all decoders together.
    package let decoders: SandboxReport?

    package init(
      coordinator: SandboxReport? = nil, workers: SandboxReport? = nil,
      decoders: SandboxReport? = nil
    ) {
      self.coordinator = coordinator
      self.workers = workers
      self.decoders = decoders
    }
  }

  package let state: State
  package let processID: Int32
  package let version: String
  package let startedAt: WallTime
  package let socketPath: String
  package let dataDirectory: String
  package let workers: [Worker]
  package let sandboxes: Sandboxes
  /// The transfers in progress, at most `limits.transfers`.
  package let transfers: Int
  /// The jobs that have not ended.
  package let activeJobs: Int
  /// The `get` requests that wait.
  package let viewers: Int
  /// The results for leases that a worker no longer had. The scheduler dropped them.
  package let lateAnswers: Int
  /// The fetches that ended after their viewers disconnected or requested another picture. The
  /// scheduler dropped the results.
  package let discardedLate: Int
  /// Why the coordinator cannot record outcomes; `nil` while it can.
  package let journalError: String?
  /// Why thumbnails cannot be stored; `nil` while no error is known.
  package let storeError: StoreErrorStatus?
  /// Why no job can progress; `nil` if one can.
  package let wait: Wait?
  /// The hosts that URLs wait for: at most 20, those with the most URLs first.
  package let waitingHosts: [Wait]
  package let limits: Limits
  package let settings: CoordinatorSettings

  package init(
    state: State, processID: Int32, version: String, startedAt: WallTime, socketPath: String,
    dataDirectory: String, workers: [Worker], sandboxes: Sandboxes = Sandboxes(), transfers: Int,
    activeJobs: Int, viewers: Int, lateAnswers: Int, discardedLate: Int, journalError: String?,
    storeError: StoreErrorStatus?, wait: Wait? = nil, waitingHosts: [Wait] = [], limits: Limits,
    settings: CoordinatorSettings
  ) {
    self.state = state
    self.processID = processID
    self.version = version
    self.startedAt = startedAt
    self.socketPath = socketPath
    self.dataDirectory = dataDirectory
    self.workers = workers
    self.sandboxes = sandboxes
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
    case workers
    case sandboxes = "sandbox"
    case transfers
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
