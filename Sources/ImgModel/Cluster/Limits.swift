/// Every limit that can be set, with its default. The coordinator gets the limits at its start, sends
/// them to each worker in `welcome`, and shows them in `imgctl status --limits`. Only the limits of a
/// ``LimitChange`` can change while it runs.
///
/// Sizes are in bytes.
package struct Limits: Hashable, Sendable, Fielded {
  /// Worker processes; 0 for one a core.
  package var workers = 0
  /// Concurrent transfers in the whole cluster, and to one host.
  package var transfers = 64
  package var transfersPerHost = 8
  /// Requests to one host in a minute, with bursts of one second's worth; 0 for no limit.
  package var hostRatePerMinute = 0
  /// Bytes of responses in a second, of the whole cluster and of one host; 0 for no limit.
  package var bytesPerSecond: Int64 = 0
  package var hostBytesPerSecond: Int64 = 0
  /// The time to establish a connection, including TLS.
  package var connectTimeout: Duration = .seconds(10)
  /// The time from the first DNS look-up to the last byte of the body, without the time for which
  /// ``bytesPerSecond`` and ``hostBytesPerSecond`` hold a transfer.
  package var transferTimeout: Duration = .seconds(60)
  /// How long a transfer may stay below 1 KiB/s.
  package var stallTimeout: Duration = .seconds(20)
  package var maxRedirects = 10
  /// The maximum number of transfers for one URL; 1 for no retries. A transfer that ended with its
  /// worker does not count: up to ten are repeated.
  package var attempts = 3
  /// The maximum delay before the first retry. It doubles with each retry.
  package var backoff: Duration = .seconds(1)
  /// The maximum time from the first failure of a URL to the start of a retry.
  package var urlTimeout: Duration = .seconds(600)
  /// How long jobs wait while no host can be resolved or connected to, or all answer with web pages; 0 for not at
  /// all. By default a night.
  package var offlineTimeout: Duration = .seconds(8 * 3_600)
  /// How long a 404 or 410 is remembered and not requested again; 0 to remember none.
  package var rememberFailures: Duration = .seconds(600)
  package var maxBodyByteCount: Int64 = 100 << 20
  /// Frames × area of what is decoded, as the picture's header declares it; also of all pictures inside
  /// an SVG together.
  package var maxPixels: Int64 = 100_000_000
  /// Frames or pages in the file of a picture, of which the first is decoded.
  package var maxFrames = 1_000
  package var decodeTimeout: Duration = .seconds(30)
  package var workerMemoryByteCount: Int64 = 1 << 30
  /// The optional formats that are decoded.
  package var allowedFormats: [ImageFormat] = []
  /// The private memory of a decoder.
  package var decoderMemoryByteCount: Int64 = 1 << 30
  /// The maximum size of an encoded thumbnail.
  package var maxThumbnailByteCount: Int64 = 64 << 20
  /// The pictures that all processes together keep in memory, see ``ClusterStatus/Memory``.
  package var memoryBudgetByteCount: Int64 = 40 << 20
  package var storeBudgetByteCount: Int64 = 400 << 20
  /// The largest original that ``Keep/auto`` keeps; 0 for none.
  package var autoOriginalByteCount: Int64 = 8 << 20
  /// How much of the store these originals may take, in percent.
  package var autoOriginalPercent = 25
  package var defaultExpiry: Duration = .seconds(7 * 86_400)
  /// How long an ended job is kept; `nil` for ever.
  package var keepJobs: Duration? = .seconds(30 * 86_400)
  /// The maximum number of connected clients.
  package var clients = 512
  /// How long a client may take to send a request. If all connections are in use, the coordinator
  /// closes a client that has been idle for this long.
  package var clientTimeout: Duration = .seconds(60)
  /// Is in the User-Agent of every request that names no other one.
  package var contact: Contact?

  package init() {}

  /// How many slow transfers may go on without counting as ``transfers``: a few times as many as there may be
  /// of those, and so many as take a few descriptors and little memory where there are many.
  package var slowTransfers: Int {
    min(Self.slowTransfersPerTransfer * transfers, Self.maximumSlowTransfers)
  }

  package static let slowTransfersPerTransfer = 4
  package static let maximumSlowTransfers = 1_024

  /// Whether transfers may have to wait for bytes.
  package var isBandwidthLimited: Bool { bytesPerSecond > 0 || hostBytesPerSecond > 0 }

  /// The User-Agent of every request that names no other contact.
  package var userAgent: String { Contact.userAgent(with: contact) }

  /// The largest single allocation that a decoder needs: 16 bytes (four 32-bit samples) a pixel, or
  /// the body. A larger request comes from a corrupt header or a miscalculation.
  package var largestAllocationByteCount: Int64 {
    let (pixels, isOverflow) = maxPixels.multipliedReportingOverflow(by: 16)
    return max(isOverflow ? .max : pixels, maxBodyByteCount)
  }

  /// The largest original that ``Keep/auto`` keeps, and that its share of the store has room for.
  package var autoOriginalMaximumByteCount: Int64 {
    min(autoOriginalByteCount, storeBudgetByteCount / 100 * Int64(autoOriginalPercent))
  }

  /// How long a decoder may take to read a picture's header. Some bytes hang a decoder there.
  package var headerTimeout: Duration { min(.seconds(5), decodeTimeout) }

  /// - Parameter what: names what has so many pixels.
  /// - Throws: a ``Failure`` of stage `decode` with code `too_many_pixels`.
  package func check(
    pixelCount: Int64, _ what: @autoclosure () -> String
  ) throws(Failure) {
    guard pixelCount <= maxPixels else {
      throw Failure(
        stage: .decode, code: .tooManyPixels, detail: "\(what()); the limit is \(maxPixels)")
    }
  }

  /// - Throws: a ``Failure`` of stage `decode` with code `too_many_frames`.
  package func check(frameCount: Int) throws(Failure) {
    guard frameCount <= maxFrames else {
      throw Failure(
        stage: .decode, code: .tooManyFrames,
        detail: "\(frameCount) frames; the limit is \(maxFrames)")
    }
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    allowedFormats = try f.field("allow_format", value?.allowedFormats)
    attempts = try f.field("attempts", value?.attempts)
    backoff = try f.field("backoff_ms", value?.backoff)
    bytesPerSecond = try f.field("bytes_per_second", value?.bytesPerSecond)
    hostBytesPerSecond = try f.field("bytes_per_second_per_host", value?.hostBytesPerSecond)
    clientTimeout = try f.field("client_timeout_ms", value?.clientTimeout)
    clients = try f.field("clients", value?.clients)
    connectTimeout = try f.field("connect_timeout_ms", value?.connectTimeout)
    contact = try f.optional("contact", value?.contact)
    decodeTimeout = try f.field("decode_timeout_ms", value?.decodeTimeout)
    decoderMemoryByteCount = try f.field("decoder_memory_bytes", value?.decoderMemoryByteCount)
    defaultExpiry = try f.field("default_expiry_ms", value?.defaultExpiry)
    hostRatePerMinute = try f.field("host_rate_per_minute", value?.hostRatePerMinute)
    autoOriginalPercent = try f.field("keep_auto_percent", value?.autoOriginalPercent)
    autoOriginalByteCount = try f.field("keep_auto_size_bytes", value?.autoOriginalByteCount)
    keepJobs = try f.optional("keep_jobs_ms", value?.keepJobs)
    maxBodyByteCount = try f.field("max_body_bytes", value?.maxBodyByteCount)
    maxFrames = try f.field("max_frames", value?.maxFrames)
    maxPixels = try f.field("max_pixels", value?.maxPixels)
    maxRedirects = try f.field("max_redirects", value?.maxRedirects)
    maxThumbnailByteCount = try f.field("max_thumbnail_bytes", value?.maxThumbnailByteCount)
    memoryBudgetByteCount = try f.field("memory_budget_bytes", value?.memoryBudgetByteCount)
    offlineTimeout = try f.field("offline_timeout_ms", value?.offlineTimeout)
    rememberFailures = try f.field("remember_failures_ms", value?.rememberFailures)
    stallTimeout = try f.field("stall_timeout_ms", value?.stallTimeout)
    storeBudgetByteCount = try f.field("store_budget_bytes", value?.storeBudgetByteCount)
    transferTimeout = try f.field("transfer_timeout_ms", value?.transferTimeout)
    transfers = try f.field("transfers", value?.transfers)
    transfersPerHost = try f.field("transfers_per_host", value?.transfersPerHost)
    urlTimeout = try f.field("url_timeout_ms", value?.urlTimeout)
    workerMemoryByteCount = try f.field("worker_memory_bytes", value?.workerMemoryByteCount)
    workers = try f.field("workers", value?.workers)
  }
}

/// A change of the limits that can change while the coordinator runs; `nil` leaves a limit unchanged.
package struct LimitChange: Hashable, Sendable, Fielded {
  package var transfers: Int?
  package let transfersPerHost: Int?
  package let hostRatePerMinute: Int?
  package let bytesPerSecond: Int64?
  package let hostBytesPerSecond: Int64?
  /// Applies to new thumbnails. Stored thumbnails keep their expiry.
  package let defaultExpiry: Duration?
  package let memoryBudgetByteCount: Int64?

  package static let transferRange = 1...16_384
  /// What "unlimited" means: as many as a worker has room for, and as open files permit.
  package static let unlimitedTransfers = transferRange.upperBound
  package static let hostRateRange = 0...600_000
  /// From 1 KiB/s, if it is not 0.
  package static let bandwidthRange: ClosedRange<Int64> = 1_024...(1 << 40)
  /// From 10 MiB to 1 TiB.
  package static let memoryBudgetRange: ClosedRange<Int64> = (10 << 20)...(1 << 40)

  /// - Precondition: each limit is in its range.
  package init(
    transfers: Int? = nil, transfersPerHost: Int? = nil, hostRatePerMinute: Int? = nil,
    bytesPerSecond: Int64? = nil, hostBytesPerSecond: Int64? = nil,
    defaultExpiry: Duration? = nil, memoryBudgetByteCount: Int64? = nil
  ) {
    precondition(
      [transfers, transfersPerHost].allSatisfy { $0.map(Self.transferRange.contains) ?? true }
        && hostRatePerMinute.map(Self.hostRateRange.contains) ?? true
        && [bytesPerSecond, hostBytesPerSecond].allSatisfy { $0.map(Self.isBandwidth) ?? true }
        && defaultExpiry.map(RequestOptions.expiryRange.contains) ?? true
        && memoryBudgetByteCount.map(Self.memoryBudgetRange.contains) ?? true,
      "a limit is out of range")
    self.transfers = transfers
    self.transfersPerHost = transfersPerHost
    self.hostRatePerMinute = hostRatePerMinute
    self.bytesPerSecond = bytesPerSecond
    self.hostBytesPerSecond = hostBytesPerSecond
    self.defaultExpiry = defaultExpiry
    self.memoryBudgetByteCount = memoryBudgetByteCount
  }

  /// Reads and validates. Throws where the initialiser has a precondition.
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    bytesPerSecond = try Self.bandwidth("bytes_per_second", value?.bytesPerSecond, &f)
    hostBytesPerSecond = try Self.bandwidth(
      "bytes_per_second_per_host", value?.hostBytesPerSecond, &f)
    defaultExpiry = try Self.limit(
      "default_expiry_ms", value?.defaultExpiry?.milliseconds,
      in: RequestOptions.expiryRange.milliseconds, &f
    ).map { .milliseconds($0) }
    hostRatePerMinute = try Self.limit(
      "host_rate_per_minute", value?.hostRatePerMinute, in: Self.hostRateRange, &f)
    memoryBudgetByteCount = try Self.limit(
      "memory_budget_bytes", value?.memoryBudgetByteCount, in: Self.memoryBudgetRange, &f)
    transfers = try Self.limit("transfers", value?.transfers, in: Self.transferRange, &f)
    transfersPerHost = try Self.limit(
      "transfers_per_host", value?.transfersPerHost, in: Self.transferRange, &f)
  }

  private static func isBandwidth(_ rate: Int64) -> Bool {
    rate == 0 || bandwidthRange.contains(rate)
  }

  private static func bandwidth(
    _ name: StaticString, _ value: Int64?, _ f: inout Fields
  ) throws(FieldError) -> Int64? {
    let rate = try f.optional(name, value)
    guard rate.map(isBandwidth) ?? true else {
      throw f.invalid(
        name,
        "the limit must be 0, or from \(bandwidthRange.lowerBound) to \(bandwidthRange.upperBound)")
    }
    return rate
  }

  private static func limit<Value: BinaryInteger & FieldValue>(
    _ name: StaticString, _ value: Value?, in range: ClosedRange<Value>, _ f: inout Fields
  ) throws(FieldError) -> Value? {
    let limit = try f.optional(name, value)
    guard limit.map(range.contains) ?? true else {
      throw f.invalid(name, "the limit must be from \(range.lowerBound) to \(range.upperBound)")
    }
    return limit
  }
}

extension Limits {
  package mutating func apply(_ change: LimitChange) {
    transfers = change.transfers ?? transfers
    transfersPerHost = change.transfersPerHost ?? transfersPerHost
    hostRatePerMinute = change.hostRatePerMinute ?? hostRatePerMinute
    bytesPerSecond = change.bytesPerSecond ?? bytesPerSecond
    hostBytesPerSecond = change.hostBytesPerSecond ?? hostBytesPerSecond
    defaultExpiry = change.defaultExpiry ?? defaultExpiry
    memoryBudgetByteCount = change.memoryBudgetByteCount ?? memoryBudgetByteCount
  }
}

/// The settings of a coordinator except its limits, its socket and its data directory.
package struct CoordinatorSettings: Hashable, Sendable, Fielded {
  /// The path of the worker program.
  package let workerExecutable: String
  /// How long the coordinator runs without clients and jobs; `nil` for no limit.
  package let idleExit: Duration?
  /// The networks with non-public addresses that workers may fetch from, in CIDR notation.
  package let allowedNetworks: [String]
  /// The directories whose files `file:` URLs may name.
  package let allowedDirectories: [String]
  /// A PEM file of the trusted certificate authorities; `nil` for those of the system.
  package let authorityFile: String?
  /// The proxies of the workers, without their credentials.
  package let proxies: ProxySettings
  /// See ``ProxySettings/credentialsCheck``.
  package let credentialsCheck: Int?
  /// Whether decoders must be sandboxed completely to decode.
  package let requiresSandbox: Bool

  package init(
    workerExecutable: String, idleExit: Duration?, allowedNetworks: [String],
    allowedDirectories: [String], authorityFile: String?, proxies: ProxySettings = .none,
    requiresSandbox: Bool
  ) {
    self.workerExecutable = workerExecutable
    self.idleExit = idleExit
    self.allowedNetworks = allowedNetworks
    self.allowedDirectories = allowedDirectories
    self.authorityFile = authorityFile
    self.proxies = proxies.withoutCredentials
    credentialsCheck = proxies.credentialsCheck
    self.requiresSandbox = requiresSandbox
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    allowedDirectories = try f.field("allow_directory", value?.allowedDirectories)
    allowedNetworks = try f.field("allow_network", value?.allowedNetworks)
    authorityFile = try f.optional("ca_file", value?.authorityFile)
    idleExit = try f.optional("idle_exit_ms", value?.idleExit)
    proxies = try f.field("proxy", value?.proxies)
    credentialsCheck = try f.optional("proxy_check", value?.credentialsCheck)
    requiresSandbox = try f.field("require_sandbox", value?.requiresSandbox)
    workerExecutable = try f.field("worker_executable", value?.workerExecutable)
  }
}
