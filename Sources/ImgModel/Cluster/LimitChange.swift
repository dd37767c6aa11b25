/// A change of the limits that can change while the coordinator runs; `nil` leaves a limit unchanged.
package struct LimitChange: Hashable, Sendable, Codable {
  package let transfers: Int?
  package let transfersPerHost: Int?
  package let hostRatePerMinute: Int?
  /// Applies to new thumbnails. Stored thumbnails keep their expiry.
  @OptionalMilliseconds package private(set) var defaultExpiry: Duration?

  package static let transferRange = 1...16_384
  package static let hostRateRange = 0...600_000

  /// - Precondition: each limit is in its range.
  package init(
    transfers: Int? = nil, transfersPerHost: Int? = nil, hostRatePerMinute: Int? = nil,
    defaultExpiry: Duration? = nil
  ) {
    precondition(
      [transfers, transfersPerHost].allSatisfy { $0.map(Self.transferRange.contains) ?? true }
        && hostRatePerMinute.map(Self.hostRateRange.contains) ?? true
        && defaultExpiry.map(RequestOptions.expiryRange.contains) ?? true,
      "a limit is out of range")
    self.transfers = transfers
    self.transfersPerHost = transfersPerHost
    self.hostRatePerMinute = hostRatePerMinute
    self.defaultExpiry = defaultExpiry
  }

  private enum CodingKeys: String, CodingKey {
    case transfers
    case transfersPerHost = "transfers_per_host"
    case hostRatePerMinute = "host_rate_per_minute"
    case defaultExpiry = "default_expiry_ms"
  }

  /// Decodes and validates. Throws where the initialiser has a precondition.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func limit<Value: BinaryInteger & Decodable>(
      _ key: CodingKeys, in range: ClosedRange<Value>
    ) throws -> Value? {
      let value = try container.decodeIfPresent(Value.self, forKey: key)
      guard value.map(range.contains) ?? true else {
        throw DecodingError.dataCorruptedError(
          forKey: key, in: container,
          debugDescription: "the limit must be from \(range.lowerBound) to \(range.upperBound)")
      }
      return value
    }
    self.init(
      transfers: try limit(.transfers, in: Self.transferRange),
      transfersPerHost: try limit(.transfersPerHost, in: Self.transferRange),
      hostRatePerMinute: try limit(.hostRatePerMinute, in: Self.hostRateRange),
      defaultExpiry: try limit(.defaultExpiry, in: RequestOptions.expiryRange.milliseconds)
        .map { .milliseconds($0) })
  }
}

extension Limits {
  package mutating func apply(_ change: LimitChange) {
    transfers = change.transfers ?? transfers
    transfersPerHost = change.transfersPerHost ?? transfersPerHost
    hostRatePerMinute = change.hostRatePerMinute ?? hostRatePerMinute
    defaultExpiry = change.defaultExpiry ?? defaultExpiry
  }
}
