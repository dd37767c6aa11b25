package import ImgModel

/// How much work a worker accepts at once. A coordinator that assigns more has a bug.
package struct Credits: Hashable, Sendable, Codable {
  /// The maximum number of URLs in unanswered look-ups.
  package let lookups: Int
  /// The maximum number of leases of `fetch`, `attach`, `decode` and `decode_upload` without a result.
  package let leases: Int
  /// The number of pictures that should wait for the decoder, in addition to the transfers in
  /// progress, so that the decoder never waits for the network.
  package let decodeQueueTarget: Int

  package init(lookups: Int, leases: Int, decodeQueueTarget: Int) {
    self.lookups = lookups
    self.leases = leases
    self.decodeQueueTarget = decodeQueueTarget
  }

  private enum CodingKeys: String, CodingKey {
    case lookups, leases
    case decodeQueueTarget = "decode_queue_target"
  }
}

/// Names one decoder of the worker.
package struct DecoderReference: Hashable, Sendable, Codable {
  package let decoder: DecoderID

  package init(decoder: DecoderID) {
    self.decoder = decoder
  }
}

/// The results of leases.
package struct FetchResults: Hashable, Sendable, Codable {
  package struct Result: Hashable, Sendable, Codable {
    package let lease: LeaseID
    package let outcome: Outcome
    /// Whether a redirect led to the response, or to the failure.
    package let wasRedirected: Bool
    /// `nil` for a cache hit, and if no phase was measured.
    package let timings: Timings?
    /// The failure of the transfer if a stale record was served instead (RFC 5861 section 4); `nil`
    /// otherwise.
    package let failureBehind: Failure?

    package init(
      lease: LeaseID, outcome: Outcome, wasRedirected: Bool = false, timings: Timings? = nil,
      failureBehind: Failure? = nil
    ) {
      self.lease = lease
      self.outcome = outcome
      self.failureBehind = failureBehind
      self.wasRedirected = wasRedirected
      self.timings = timings
    }

    private enum CodingKeys: String, CodingKey {
      case lease, outcome
      case wasRedirected = "redirected"
      case timings
      case failureBehind = "failure_behind"
    }
  }

  package let results: [Result]
  /// The number of pictures that wait for the worker's decoder.
  package let decodeQueueCount: Int

  package init(results: [Result], decodeQueueCount: Int = 0) {
    self.results = results
    self.decodeQueueCount = decodeQueueCount
  }

  private enum CodingKeys: String, CodingKey {
    case results
    case decodeQueueCount = "decode_queue"
  }
}

/// Facts about hosts that a worker learns from transfers in progress, and about the pace of these.
package struct HostUpdates: Hashable, Sendable, Codable {
  package var cooldowns: [HostCooldown] = []
  /// One entry for each request that took no token from its host's bucket: a request for robots.txt,
  /// or a redirect within the host.
  package var extraRequests: [String] = []
  /// The leases of `fetch` whose origin's robots.txt is now known.
  package var robotsKnown: [LeaseID] = []
  /// Transfers that have turned slow: less arrives than a stated rate.
  package var slow: [TransferID] = []
  /// Transfers that were slow and are not any more.
  package var fast: [TransferID] = []

  package init(
    cooldowns: [HostCooldown] = [], extraRequests: [String] = [], robotsKnown: [LeaseID] = [],
    slow: [TransferID] = [], fast: [TransferID] = []
  ) {
    self.cooldowns = cooldowns
    self.extraRequests = extraRequests
    self.robotsKnown = robotsKnown
    self.slow = slow
    self.fast = fast
  }

  package var isEmpty: Bool {
    cooldowns.isEmpty && extraRequests.isEmpty && robotsKnown.isEmpty && slow.isEmpty
      && fast.isEmpty
  }

  private enum CodingKeys: String, CodingKey {
    case cooldowns
    case extraRequests = "extra_requests"
    case robotsKnown = "robots_known"
    case slow, fast
  }
}

/// The result of a look-up. Each lease of the batch is in exactly one of `hits`, `originals` and
/// `misses`.
package struct LookupResults: Hashable, Sendable, Codable {
  package struct Hit: Hashable, Sendable, Codable {
    package let lease: LeaseID
    package let thumbnail: Thumbnail

    package init(lease: LeaseID, thumbnail: Thumbnail) {
      self.lease = lease
      self.thumbnail = thumbnail
    }
  }

  package let hits: [Hit]
  /// The hits that are served stale while they are revalidated (RFC 5861 section 3).
  package let stale: [LeaseID]
  /// The leases whose original is in the store, so the thumbnail can be made without a fetch.
  package let originals: [LeaseID]
  package let misses: [LeaseID]

  package init(
    hits: [Hit], stale: [LeaseID] = [], originals: [LeaseID], misses: [LeaseID]
  ) {
    self.hits = hits
    self.stale = stale
    self.originals = originals
    self.misses = misses
  }
}

/// A preview of a picture whose body is arriving.
package struct MadePreview: Hashable, Sendable, Codable {
  /// The lease that the picture is fetched for. It goes on.
  package let lease: LeaseID
  package let thumbnail: Thumbnail
  /// The first bytes of the body that it shows.
  package let shownByteCount: Int

  package init(lease: LeaseID, thumbnail: Thumbnail, shownByteCount: Int) {
    self.lease = lease
    self.thumbnail = thumbnail
    self.shownByteCount = shownByteCount
  }

  private enum CodingKeys: String, CodingKey {
    case lease, thumbnail
    case shownByteCount = "shown_bytes"
  }
}

/// How much of the bodies of leases has arrived.
package struct ProgressReport: Hashable, Sendable, Codable {
  package struct Entry: Hashable, Sendable {
    /// The lease that the body is fetched for. It goes on.
    package let lease: LeaseID
    package let progress: ImageProgress

    package init(lease: LeaseID, progress: ImageProgress) {
      self.lease = lease
      self.progress = progress
    }
  }

  package let entries: [Entry]

  package init(entries: [Entry]) {
    self.entries = entries
  }
}

// The members of the progress are beside the lease.
extension ProgressReport.Entry: Codable {
  private enum CodingKeys: String, CodingKey {
    case lease
  }

  package init(from decoder: any Decoder) throws {
    lease = try decoder.container(keyedBy: CodingKeys.self).decode(LeaseID.self, forKey: .lease)
    progress = try ImageProgress(from: decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(lease, forKey: .lease)
    try progress.encode(to: encoder)
  }
}

/// Redirected transfers that wait for slots at their new hosts.
package struct Redirections: Hashable, Sendable, Codable {
  package struct Redirection: Hashable, Sendable, Codable {
    package let transfer: TransferID
    /// The new host, see ``ImageURL/host``.
    package let host: String
    /// The new origin, see ``ImageURL/origin``.
    package let origin: String

    package init(transfer: TransferID, host: String, origin: String) {
      self.transfer = transfer
      self.host = host
      self.origin = origin
    }
  }

  package let redirections: [Redirection]

  package init(redirections: [Redirection]) {
    self.redirections = redirections
  }
}

/// The reason why a worker cannot start.
package struct Refusal: Hashable, Sendable, Codable {
  package let reason: String

  package init(reason: String) {
    self.reason = reason
  }
}

/// The result of a lease whose thumbnail is not in the store.
package struct UncachedResult: Hashable, Sendable, Codable {
  package let lease: LeaseID
  package let made: UncachedThumbnail
  /// Bytes of the response body.
  package let bytesFetched: Int
  /// Whether the store is degraded: it stores no thumbnails at present. `false` if only this thumbnail
  /// is not stored.
  package let isStoreDegraded: Bool

  package init(
    lease: LeaseID, made: UncachedThumbnail, bytesFetched: Int, isStoreDegraded: Bool
  ) {
    self.lease = lease
    self.made = made
    self.bytesFetched = bytesFetched
    self.isStoreDegraded = isStoreDegraded
  }

  private enum CodingKeys: String, CodingKey {
    case lease, made
    case bytesFetched = "bytes_fetched"
    case isStoreDegraded = "store_degraded"
  }
}

/// What confines a worker and its decoders.
package struct WorkerSandbox: Hashable, Sendable, Codable {
  package let worker: SandboxReport
  package let decoder: SandboxReport

  package init(worker: SandboxReport, decoder: SandboxReport) {
    self.worker = worker
    self.decoder = decoder
  }
}
