/// Every limit a person can set, with its default. Set where the coordinator starts, handed to each
/// worker in its welcome, printed by `imgctl status --limits`; of these only
/// those of a ``LimitChange`` can be changed while it runs.
///
/// Durations are milliseconds and sizes bytes. Beside them is what origins are told of who asks: a
/// person is limited by what they are known for, too.
package struct Limits: Hashable, Sendable, Codable {
  /// Worker processes; 0 means one a core.
  package var workers = 0
  /// Transfers under way in the whole cluster, and to one host.
  package var transfers = 64
  package var transfersPerHost = 8
  /// Transfers begun at one host in a minute, with bursts of a second's worth; 0 for no limit.
  package var hostRatePerMinute = 0
  /// Until a connection stands, TLS included.
  package var connectTimeoutMilliseconds: Int64 = 10_000
  /// From the first look-up of the name to the last byte of the body.
  package var transferTimeoutMilliseconds: Int64 = 60_000
  /// How long a transfer may stay below 1 KiB/s.
  package var stallTimeoutMilliseconds: Int64 = 20_000
  package var maxRedirects = 10
  /// Transfers of one URL until one succeeds; 1 for no retries.
  package var attempts = 3
  /// The longest wait before the first retry; each further one may be twice as long.
  package var backoffMilliseconds: Int64 = 1_000
  /// From the first failure of a URL on; no retry begins later.
  package var urlTimeoutMilliseconds: Int64 = 600_000
  /// How long a picture that is not there is not asked for again; 0 for no such time.
  package var rememberFailuresMilliseconds: Int64 = 600_000
  package var maxBodyByteCount: Int64 = 100 << 20
  /// Frames times area, as declared by the picture's header.
  package var maxPixels: Int64 = 100_000_000
  package var maxFrames = 1_000
  package var decodeTimeoutMilliseconds: Int64 = 30_000
  package var workerMemoryByteCount: Int64 = 1 << 30
  package var storeBudgetByteCount: Int64 = 400 << 20
  package var defaultExpiryMilliseconds: Int64 = 7 * 24 * 3_600_000
  /// How long a job is kept after its end; `nil` for ever.
  package var keepJobsMilliseconds: Int64? = 30 * 24 * 3_600_000
  /// Clients that may be connected at a time.
  package var clients = 512
  /// How long a client may leave a request half-sent. When all connections are in use, a client
  /// that has been idle for so long makes room.
  package var clientTimeoutMilliseconds: Int64 = 60_000
  /// Where whoever runs an origin can complain: a mail address or a URL, as ``Contact`` reads it.
  package var contact: String?

  package init() {}

  /// What every request says of who asks (RFC 9110 section 10.1.5).
  package var userAgent: String {
    "imgctl/\(Build.version)" + (contact.map { " (+\($0))" } ?? "")
  }

  /// The most that a decoder has a reason to ask for at a time: 16 bytes (four samples of 32 bits) for
  /// each pixel, or the body. More is what a broken header or a wrong computation asks for.
  package var largestAllocationByteCount: Int64 {
    let (pixels, isOverflow) = maxPixels.multipliedReportingOverflow(by: 16)
    return max(isOverflow ? .max : pixels, maxBodyByteCount)
  }

  private enum CodingKeys: String, CodingKey {
    case workers, transfers
    case transfersPerHost = "transfers_per_host"
    case hostRatePerMinute = "host_rate_per_minute"
    case connectTimeoutMilliseconds = "connect_timeout_ms"
    case transferTimeoutMilliseconds = "transfer_timeout_ms"
    case stallTimeoutMilliseconds = "stall_timeout_ms"
    case maxRedirects = "max_redirects"
    case attempts
    case backoffMilliseconds = "backoff_ms"
    case urlTimeoutMilliseconds = "url_timeout_ms"
    case rememberFailuresMilliseconds = "remember_failures_ms"
    case maxBodyByteCount = "max_body_bytes"
    case maxPixels = "max_pixels"
    case maxFrames = "max_frames"
    case decodeTimeoutMilliseconds = "decode_timeout_ms"
    case workerMemoryByteCount = "worker_memory_bytes"
    case storeBudgetByteCount = "store_budget_bytes"
    case defaultExpiryMilliseconds = "default_expiry_ms"
    case keepJobsMilliseconds = "keep_jobs_ms"
    case clients
    case clientTimeoutMilliseconds = "client_timeout_ms"
    case contact
  }
}
