/// Every limit a person can set, with its default. Set where the coordinator starts, handed to each
/// worker in its welcome, printed by `imgctl status --limits`; of these only
/// ``TransferLimits`` can be changed while it runs.
///
/// Durations are milliseconds and sizes bytes.
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
  package var maxBodyByteCount: Int64 = 100 << 20
  /// Frames times area, as declared by the picture's header.
  package var maxPixels: Int64 = 100_000_000
  package var maxFrames = 1_000
  package var decodeTimeoutMilliseconds: Int64 = 30_000
  package var workerMemoryByteCount: Int64 = 1 << 30
  package var storeBudgetByteCount: Int64 = 400 << 20
  package var defaultExpiryMilliseconds: Int64 = 7 * 24 * 3_600_000

  package init() {}

  private enum CodingKeys: String, CodingKey {
    case workers, transfers
    case transfersPerHost = "transfers_per_host"
    case hostRatePerMinute = "host_rate_per_minute"
    case connectTimeoutMilliseconds = "connect_timeout_ms"
    case transferTimeoutMilliseconds = "transfer_timeout_ms"
    case stallTimeoutMilliseconds = "stall_timeout_ms"
    case maxRedirects = "max_redirects"
    case maxBodyByteCount = "max_body_bytes"
    case maxPixels = "max_pixels"
    case maxFrames = "max_frames"
    case decodeTimeoutMilliseconds = "decode_timeout_ms"
    case workerMemoryByteCount = "worker_memory_bytes"
    case storeBudgetByteCount = "store_budget_bytes"
    case defaultExpiryMilliseconds = "default_expiry_ms"
  }
}

/// The limits that a person can change while the coordinator runs; `nil` leaves one as it is.
package struct TransferLimits: Hashable, Sendable, Codable {
  package let transfers: Int?
  package let transfersPerHost: Int?
  package let hostRatePerMinute: Int?

  package static let transferRange = 1...1_024
  package static let hostRateRange = 0...600_000

  /// - Precondition: what is given is in its range.
  package init(transfers: Int?, transfersPerHost: Int?, hostRatePerMinute: Int?) {
    precondition(
      [transfers, transfersPerHost].allSatisfy { $0.map(Self.transferRange.contains) ?? true }
        && hostRatePerMinute.map(Self.hostRateRange.contains) ?? true,
      "a limit is in its range")
    self.transfers = transfers
    self.transfersPerHost = transfersPerHost
    self.hostRatePerMinute = hostRatePerMinute
  }

  private enum CodingKeys: String, CodingKey {
    case transfers
    case transfersPerHost = "transfers_per_host"
    case hostRatePerMinute = "host_rate_per_minute"
  }

  /// Decodes with the initialiser's conditions as errors.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func limit(_ key: CodingKeys, in range: ClosedRange<Int>) throws -> Int? {
      let value = try container.decodeIfPresent(Int.self, forKey: key)
      guard value.map(range.contains) ?? true else {
        throw DecodingError.dataCorruptedError(
          forKey: key, in: container,
          debugDescription: "the limit is from \(range.lowerBound) to \(range.upperBound)")
      }
      return value
    }
    self.init(
      transfers: try limit(.transfers, in: Self.transferRange),
      transfersPerHost: try limit(.transfersPerHost, in: Self.transferRange),
      hostRatePerMinute: try limit(.hostRatePerMinute, in: Self.hostRateRange))
  }
}

extension Limits {
  package mutating func apply(_ change: TransferLimits) {
    transfers = change.transfers ?? transfers
    transfersPerHost = change.transfersPerHost ?? transfersPerHost
    hostRatePerMinute = change.hostRatePerMinute ?? hostRatePerMinute
  }
}
