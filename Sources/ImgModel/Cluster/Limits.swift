/// Every limit that can be set, with its default. The coordinator gets the limits at its start, sends
/// them to each worker in `welcome`, and shows them in `imgctl status --limits`. Only the limits of a
/// ``LimitChange`` can change while it runs.
///
/// Durations are in milliseconds, sizes in bytes.
package struct Limits: Hashable, Sendable, Codable {
  /// Worker processes; 0 for one a core.
  package var workers = 0
  /// Concurrent transfers in the whole cluster, and to one host.
  package var transfers = 64
  package var transfersPerHost = 8
  /// Requests to one host in a minute, with bursts of one second's worth; 0 for no limit.
  package var hostRatePerMinute = 0
  /// The time to establish a connection, including TLS.
  package var connectTimeoutMilliseconds: Int64 = 10_000
  /// The time from the first DNS look-up to the last byte of the body.
  package var transferTimeoutMilliseconds: Int64 = 60_000
  /// How long a transfer may stay below 1 KiB/s.
  package var stallTimeoutMilliseconds: Int64 = 20_000
  package var maxRedirects = 10
  /// The maximum number of transfers for one URL; 1 for no retries.
  package var attempts = 3
  /// The maximum delay before the first retry. It doubles with each retry.
  package var backoffMilliseconds: Int64 = 1_000
  /// The maximum time from the first failure of a URL to the start of a retry.
  package var urlTimeoutMilliseconds: Int64 = 600_000
  /// How long a 404 or 410 is remembered and not requested again; 0 to remember none.
  package var rememberFailuresMilliseconds: Int64 = 600_000
  package var maxBodyByteCount: Int64 = 100 << 20
  /// Frames × area, as the picture's header declares them.
  package var maxPixels: Int64 = 100_000_000
  package var maxFrames = 1_000
  package var decodeTimeoutMilliseconds: Int64 = 30_000
  package var workerMemoryByteCount: Int64 = 1 << 30
  package var storeBudgetByteCount: Int64 = 400 << 20
  package var defaultExpiryMilliseconds: Int64 = 7 * 24 * 3_600_000
  /// How long an ended job is kept; `nil` for ever.
  package var keepJobsMilliseconds: Int64? = 30 * 24 * 3_600_000
  /// The maximum number of connected clients.
  package var clients = 512
  /// How long a client may take to send a request. If all connections are in use, the coordinator
  /// closes a client that has been idle for this long.
  package var clientTimeoutMilliseconds: Int64 = 60_000
  /// How operators of origins can reach the user: a mail address or a URL, as `Contact` parses it.
  package var contact: String?

  package init() {}

  /// The User-Agent of every request (RFC 9110 section 10.1.5).
  package var userAgent: String {
    "imgctl/\(Build.version)" + (contact.map { " (+\($0))" } ?? "")
  }

  /// The largest single allocation that a decoder needs: 16 bytes (four 32-bit samples) a pixel, or
  /// the body. A larger request comes from a corrupt header or a miscalculation.
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
