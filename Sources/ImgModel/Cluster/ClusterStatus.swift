/// A snapshot of the whole cluster for people and programs.
package struct ClusterStatus: Hashable, Sendable, Fielded {
  package enum State: String, Sendable, FieldValue {
    case running
    /// The cluster finishes its leases and starts nothing more.
    case draining
  }

  /// The worker of a number. When its process exits, another process takes the number.
  package struct Worker: Hashable, Sendable, Fielded {
    package enum State: String, Sendable, FieldValue {
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

    package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      deaths = try f.field("deaths", value?.deaths)
      decoderDeaths = try f.field("decoder_deaths", value?.decoderDeaths)
      decoderProcessIDs = try f.field("decoder_pids", value?.decoderProcessIDs)
      decoding = try f.field("decoding", value?.decoding)
      fetching = try f.field("fetching", value?.fetching)
      lookingUp = try f.field("looking_up", value?.lookingUp)
      number = try f.field("number", value?.number)
      processID = try f.optional("pid", value?.processID)
      state = try f.field("state", value?.state)
    }
  }

  /// What confines the processes of each kind; `nil` while none has reported it.
  package struct Sandboxes: Hashable, Sendable, Fielded {
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

    package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      coordinator = try f.optional("coordinator", value?.coordinator)
      decoders = try f.optional("decoders", value?.decoders)
      workers = try f.optional("workers", value?.workers)
    }
  }

  /// How the memory budget of the limits is shared out.
  package struct Memory: Hashable, Sendable, Fielded {
    /// The processes that keep pictures in memory. Each has an equal share.
    package let processCount: Int
    /// The share of each; without a process, that of the first one.
    package let shareByteCount: Int64

    package init(processCount: Int = 0, shareByteCount: Int64 = Limits().memoryBudgetByteCount) {
      self.processCount = processCount
      self.shareByteCount = shareByteCount
    }

    package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      processCount = try f.field("processes", value?.processCount)
      shareByteCount = try f.field("share_bytes", value?.shareByteCount)
    }
  }

  package let state: State
  package let processID: Int32
  package let version: String
  package let startedAt: WallTime
  package let socketPath: String
  package let dataDirectory: String
  package let cacheDirectory: String
  package let storeName: String
  package let workers: [Worker]
  package let sandboxes: Sandboxes
  package let memory: Memory
  /// The transfers in progress, at most `limits.transfers`.
  package let transfers: Int
  /// How many may be in progress at once because the line of this machine is slow; `nil` for `limits.transfers`.
  package let slowLineTransfers: Int?
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
  /// How many other hosts URLs wait for.
  package let moreWaitingHosts: Int
  package let limits: Limits
  package let settings: CoordinatorSettings

  package init(
    state: State, processID: Int32, version: String, startedAt: WallTime, socketPath: String,
    dataDirectory: String, cacheDirectory: String, storeName: String, workers: [Worker],
    sandboxes: Sandboxes = Sandboxes(), memory: Memory = Memory(), transfers: Int,
    slowLineTransfers: Int? = nil, activeJobs: Int, viewers: Int, lateAnswers: Int,
    discardedLate: Int, journalError: String?,
    storeError: StoreErrorStatus?, wait: Wait? = nil, waitingHosts: [Wait] = [],
    moreWaitingHosts: Int = 0, limits: Limits,
    settings: CoordinatorSettings
  ) {
    self.state = state
    self.processID = processID
    self.version = version
    self.startedAt = startedAt
    self.socketPath = socketPath
    self.dataDirectory = dataDirectory
    self.cacheDirectory = cacheDirectory
    self.storeName = storeName
    self.workers = workers
    self.sandboxes = sandboxes
    self.memory = memory
    self.transfers = transfers
    self.slowLineTransfers = slowLineTransfers
    self.activeJobs = activeJobs
    self.viewers = viewers
    self.lateAnswers = lateAnswers
    self.discardedLate = discardedLate
    self.journalError = journalError
    self.storeError = storeError
    self.wait = wait
    self.waitingHosts = waitingHosts
    self.moreWaitingHosts = moreWaitingHosts
    self.limits = limits
    self.settings = settings
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    activeJobs = try f.field("active_jobs", value?.activeJobs)
    cacheDirectory = try f.field("cache_directory", value?.cacheDirectory)
    dataDirectory = try f.field("data_directory", value?.dataDirectory)
    discardedLate = try f.field("discarded_late", value?.discardedLate)
    journalError = try f.optional("journal_error", value?.journalError)
    lateAnswers = try f.field("late_answers", value?.lateAnswers)
    limits = try f.field("limits", value?.limits)
    memory = try f.field("memory", value?.memory)
    moreWaitingHosts = try f.field("more_waiting_hosts", value?.moreWaitingHosts, default: 0)
    processID = try f.field("pid", value?.processID)
    sandboxes = try f.field("sandbox", value?.sandboxes)
    settings = try f.field("settings", value?.settings)
    slowLineTransfers = try f.optional("slow_line_transfers", value?.slowLineTransfers)
    socketPath = try f.field("socket", value?.socketPath)
    startedAt = try f.field("started_at", value?.startedAt)
    state = try f.field("state", value?.state)
    storeError = try f.optional("store_error", value?.storeError)
    storeName = try f.field("store_name", value?.storeName)
    transfers = try f.field("transfers", value?.transfers)
    version = try f.field("version", value?.version)
    viewers = try f.field("viewers", value?.viewers)
    wait = try f.optional("wait", value?.wait)
    waitingHosts = try f.field("waiting_hosts", value?.waitingHosts)
    workers = try f.field("workers", value?.workers)
  }
}

/// The store is degraded: it stores no thumbnails at present.
package struct StoreErrorStatus: Hashable, Sendable, Fielded {
  /// The last error, for people.
  package var reason: String
  /// The time of the first error.
  package let since: WallTime
  /// The uncached thumbnails that clients have received since then.
  package var servedCount: Int

  package init(reason: String, since: WallTime, servedCount: Int = 0) {
    self.reason = reason
    self.since = since
    self.servedCount = servedCount
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    reason = try f.field("reason", value?.reason)
    servedCount = try f.field("served", value?.servedCount)
    since = try f.field("since", value?.since)
  }
}

/// An origin's cooldown after it sent Retry-After (RFC 9110 section 10.2.3): workers send no requests
/// to it. Other ports and schemes of its host have asked for nothing.
package struct HostCooldown: Hashable, Sendable {
  /// See ``ImageURL/host``.
  package let host: String
  /// See ``ImageURL/origin``.
  package let origin: String
  /// At most ``maximumSeconds``.
  package let duration: Duration
  /// The status of the response with Retry-After.
  package let httpStatus: Int

  /// The maximum cooldown. An origin that asks for more gets the next request too early and can refuse
  /// it.
  package static let maximumSeconds: Int64 = 300
  /// The maximum for requests of clients that wait. They are refused at once meanwhile.
  package static let maximumForViewers = Duration.seconds(60)

  /// - Parameter seconds: the value of Retry-After; clamped to 0…``maximumSeconds``.
  package init(host: String, origin: String, seconds: Int64, httpStatus: Int) {
    self.host = host
    self.origin = origin
    self.httpStatus = httpStatus
    duration = .seconds(min(max(seconds, 0), Self.maximumSeconds))
  }
}

extension HostCooldown: Fielded {
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    host = try f.field("host", value?.host)
    httpStatus = try f.field("http_status", value?.httpStatus)
    duration = try f.field("ms", value?.duration)
    origin = try f.field("origin", value?.origin)
  }
}

/// The protections that are in force in a process.
///
/// A kernel may lack some: they depend on its version, its configuration and the container that the
/// process runs in.
package struct SandboxReport: Hashable, Sendable, Fielded {
  /// A program that the process executes gains no privileges (PR_SET_NO_NEW_PRIVS).
  package var hasNoNewPrivileges: Bool
  /// The process can be neither dumped nor traced by other processes of its user (PR_SET_DUMPABLE).
  package var isNotDumpable: Bool
  /// A filter refuses the system calls that the process does not need (seccomp(2)).
  package var hasSystemCallFilter: Bool
  /// The version of Landlock (landlock(7)) that limits files, sockets and signals; `nil` for none.
  package var landlockVersion: Int?
  /// The process has a network of its own, which is connected to nothing (network_namespaces(7)).
  package var hasOwnNetwork: Bool

  package init(
    hasNoNewPrivileges: Bool = false, isNotDumpable: Bool = false,
    hasSystemCallFilter: Bool = false, landlockVersion: Int? = nil, hasOwnNetwork: Bool = false
  ) {
    self.hasNoNewPrivileges = hasNoNewPrivileges
    self.isNotDumpable = isNotDumpable
    self.hasSystemCallFilter = hasSystemCallFilter
    self.landlockVersion = landlockVersion
    self.hasOwnNetwork = hasOwnNetwork
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    landlockVersion = try f.optional("landlock", value?.landlockVersion)
    hasNoNewPrivileges = try f.field("no_new_privileges", value?.hasNoNewPrivileges)
    isNotDumpable = try f.field("not_dumpable", value?.isNotDumpable)
    hasOwnNetwork = try f.field("own_network", value?.hasOwnNetwork)
    hasSystemCallFilter = try f.field("seccomp", value?.hasSystemCallFilter)
  }
}

extension SandboxReport {
  /// The essential protections that this kernel lacks, each as a phrase; empty if there are none. A
  /// network namespace is not essential, because the filter and Landlock refuse sockets, too.
  package var missing: [String] {
    var missing: [String] = []
    if !hasNoNewPrivileges { missing.append("no_new_privs") }
    if !hasSystemCallFilter { missing.append("system call filters (seccomp)") }
    if landlockVersion == nil { missing.append("Landlock") }
    return missing
  }
}

extension SandboxReport {
  /// The protections that are in force in all of several processes; `nil` for no process.
  package init?(ofAll reports: [SandboxReport]) {
    guard !reports.isEmpty else { return nil }
    let versions = reports.compactMap(\.landlockVersion)
    self.init(
      hasNoNewPrivileges: reports.allSatisfy(\.hasNoNewPrivileges),
      isNotDumpable: reports.allSatisfy(\.isNotDumpable),
      hasSystemCallFilter: reports.allSatisfy(\.hasSystemCallFilter),
      landlockVersion: versions.count == reports.count ? versions.min() : nil,
      hasOwnNetwork: reports.allSatisfy(\.hasOwnNetwork))
  }
}

extension SandboxReport: CustomStringConvertible {
  /// A line for people, such as `seccomp, Landlock 7, own network, no_new_privs, not dumpable`.
  package var description: String {
    var present: [String] = []
    if hasSystemCallFilter { present.append("seccomp") }
    if let landlockVersion { present.append("Landlock \(landlockVersion)") }
    if hasOwnNetwork { present.append("own network") }
    if hasNoNewPrivileges { present.append("no_new_privs") }
    if isNotDumpable { present.append("not dumpable") }
    let protections = present.isEmpty ? "none" : present.joined(separator: ", ")
    return missing.isEmpty
      ? protections : "\(protections); the kernel lacks \(missing.joined(separator: " and "))"
  }
}

/// The size of the store and its limits, as a worker sees them.
package struct StoreReport: Hashable, Sendable, Fielded {
  /// Of the store's files.
  package let directory: String
  /// The budget of the settings.
  package let budgetByteCount: Int64
  /// The limit of the disk; `nil` if it is above the budget.
  package let diskByteCount: Int64?
  /// What pinned records take, see ``footprint(ofRecord:)``.
  package let pinnedByteCount: Int64
  /// Jobs that pin records, those with the lowest numbers; at most ``maximumJobCount``. Pins of an ended job are
  /// removed once the job is among them.
  package let pinningJobs: [JobID]

  package static let maximumJobCount = 1_024

  package init(
    directory: String, budgetByteCount: Int64, diskByteCount: Int64?, pinnedByteCount: Int64,
    pinningJobs: [JobID]
  ) {
    self.directory = directory
    self.budgetByteCount = budgetByteCount
    self.diskByteCount = diskByteCount
    self.pinnedByteCount = pinnedByteCount
    self.pinningJobs = pinningJobs
  }

  /// The maximum size of the store now.
  package var effectiveByteCount: Int64 { diskByteCount ?? budgetByteCount }

  /// What pinned records may take of a budget. The rest is for the indexes, and for what is not pinned.
  package static func pinLimit(of budgetByteCount: Int64) -> Int64 { budgetByteCount / 10 * 9 }

  /// Whether jobs that wait for room may go on. There must be room for more than the few pictures that are
  /// under way at once, so that jobs do not stop and go on with each picture.
  package var hasRoomForPins: Bool {
    pinnedByteCount < Self.pinLimit(of: effectiveByteCount) / 20 * 19
  }

  /// That the disk leaves no room for pins, or other pins do not, and what makes some; `nil` if no job is known that
  /// pins up to the budget.
  package var pinShortage: String? {
    guard diskByteCount != nil else {
      return pinningJobs.first.map {
        "pins use up the store (imgctl export \($0) DIR, imgctl unpin \($0), or --store-budget)"
      }
    }
    let pinning = pinningJobs.first?.description ?? "JOB"
    return "the disk of \(directory) is full; free space on it"
      + (pinnedByteCount == 0 ? "" : ", imgctl export \(pinning) DIR, or imgctl unpin \(pinning)")
  }

  /// What a record of so many bytes takes in the store, about: whole pages of 4 KiB, with the URL and the
  /// header, or for a small one a part of a page that is shared.
  package static func footprint(ofRecord byteCount: Int64) -> Int64 {
    let recordByteCount = byteCount + 400
    guard recordByteCount > 2_000 else { return recordByteCount / 2 * 3 }
    return (recordByteCount + 4_095) / 4_096 * 4_096
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    directory = try f.field("directory", value?.directory)
    budgetByteCount = try f.field("budget_bytes", value?.budgetByteCount)
    diskByteCount = try f.optional("disk_bytes", value?.diskByteCount)
    pinnedByteCount = try f.field("pinned_bytes", value?.pinnedByteCount)
    pinningJobs = try f.field("pinning_jobs", value?.pinningJobs)
  }
}
