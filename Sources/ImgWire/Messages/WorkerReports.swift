@_spi(Coding) package import ImgModel

/// How much work a worker accepts at once. A coordinator that assigns more has a bug.
package struct Credits: Hashable, Sendable, Fielded {
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

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    decodeQueueTarget = try f.field("decode_queue_target", value?.decodeQueueTarget)
    leases = try f.field("leases", value?.leases)
    lookups = try f.field("lookups", value?.lookups)
  }
}

/// The results of leases.
package struct FetchResults: Hashable, Sendable, Fielded {
  package struct Result: Hashable, Sendable, Fielded {
    package let lease: LeaseID
    package let outcome: Outcome
    /// Whether a redirect led to the response, or to the failure.
    package let wasRedirected: Bool
    /// `nil` for a cache hit, and if no phase was measured.
    package let timings: Timings?
    /// The failure of the transfer if a stale record was served instead (RFC 5861 section 4); `nil`
    /// otherwise.
    package let failureBehind: Failure?
    /// Whether it failed because the store takes nothing at present.
    package let isStoreDegraded: Bool
    /// What its transfer says of the network; `nil` if that is nothing out of the ordinary.
    package let sign: NetworkSign?

    package init(
      lease: LeaseID, outcome: Outcome, wasRedirected: Bool = false, timings: Timings? = nil,
      failureBehind: Failure? = nil, isStoreDegraded: Bool = false, sign: NetworkSign? = nil
    ) {
      self.lease = lease
      self.outcome = outcome
      self.failureBehind = failureBehind
      self.wasRedirected = wasRedirected
      self.timings = timings
      self.isStoreDegraded = isStoreDegraded
      self.sign = sign
    }

    package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      failureBehind = try f.optional("failure_behind", value?.failureBehind)
      lease = try f.field("lease", value?.lease)
      outcome = try f.field("outcome", value?.outcome)
      wasRedirected = try f.field("redirected", value?.wasRedirected)
      sign = try f.optional("sign", value?.sign)
      isStoreDegraded = try f.field("store_degraded", value?.isStoreDegraded, default: false)
      timings = try f.optional("timings", value?.timings)
    }
  }

  package let results: [Result]
  /// The number of pictures that wait for the worker's decoder.
  package let decodeQueueCount: Int

  package init(results: [Result], decodeQueueCount: Int = 0) {
    self.results = results
    self.decodeQueueCount = decodeQueueCount
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    decodeQueueCount = try f.field("decode_queue", value?.decodeQueueCount)
    results = try f.field("results", value?.results)
  }
}

/// Facts about hosts that a worker learns from transfers in progress, and about the pace of these.
package struct HostUpdates: Hashable, Sendable, Fielded {
  package var cooldowns: [HostCooldown] = []
  /// One entry for each request that took no token from its host's bucket: for a robots.txt, or for a further
  /// part of a file.
  package var extraRequests: [String] = []
  /// The leases of `fetch` whose origin's robots.txt is now known.
  package var robotsKnown: [LeaseID] = []
  /// The answers of hosts that were asked for their robots.txt, which may be that they have none.
  package var robotsFetched: [RobotsFetch] = []
  /// Transfers that have turned slow: less arrives than a stated rate.
  package var slow: [TransferID] = []
  /// Transfers that were slow and are not any more.
  package var fast: [TransferID] = []
  /// For how much longer transfers were held than was told before.
  package var held: [HeldTransfer] = []
  /// What transfers are at that are slow, or were so far.
  package var phases: [PhasedTransfer] = []
  /// What the robots.txt of hosts asks for, each time a transfer starts there that respects it.
  package var crawlDelays: [CrawlDelay] = []

  package init(
    cooldowns: [HostCooldown] = [], extraRequests: [String] = [], robotsKnown: [LeaseID] = [],
    robotsFetched: [RobotsFetch] = [], slow: [TransferID] = [], fast: [TransferID] = [],
    held: [HeldTransfer] = [], phases: [PhasedTransfer] = [],
    crawlDelays: [CrawlDelay] = []
  ) {
    self.cooldowns = cooldowns
    self.extraRequests = extraRequests
    self.robotsKnown = robotsKnown
    self.robotsFetched = robotsFetched
    self.slow = slow
    self.fast = fast
    self.held = held
    self.phases = phases
    self.crawlDelays = crawlDelays
  }

  package var isEmpty: Bool {
    cooldowns.isEmpty && extraRequests.isEmpty && robotsKnown.isEmpty && robotsFetched.isEmpty
      && slow.isEmpty
      && fast.isEmpty && held.isEmpty && phases.isEmpty && crawlDelays.isEmpty
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    cooldowns = try f.field("cooldowns", value?.cooldowns)
    crawlDelays = try f.field("crawl_delays", value?.crawlDelays)
    extraRequests = try f.field("extra_requests", value?.extraRequests)
    fast = try f.field("fast", value?.fast)
    held = try f.field("held", value?.held)
    phases = try f.field("phases", value?.phases)
    robotsFetched = try f.field("robots_fetched", value?.robotsFetched)
    robotsKnown = try f.field("robots_known", value?.robotsKnown)
    slow = try f.field("slow", value?.slow)
  }
}

/// An answer of a host that was asked for its robots.txt.
package struct RobotsFetch: Hashable, Sendable, Fielded {
  /// See ``ImageURL/host``.
  package let host: String
  /// What it says of the network; `nil` if that is nothing out of the ordinary.
  package let sign: NetworkSign?

  package init(from host: String, sign: NetworkSign? = nil) {
    self.host = host
    self.sign = sign
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    host = try f.field("host", value?.host)
    sign = try f.optional("sign", value?.sign)
  }
}

/// For how long the limits of bandwidth have held a transfer. Its host is not slow for that time, and the
/// transfer has so much longer.
package struct HeldTransfer: Hashable, Sendable, Fielded {
  package let transfer: TransferID
  package let time: Duration

  package init(_ transfer: TransferID, for time: Duration) {
    self.transfer = transfer
    self.time = time
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    time = try f.field("held_ms", value?.time)
    transfer = try f.field("transfer", value?.transfer)
  }
}

/// What a transfer does at the moment. The coordinator takes a transfer that is not named for one that receives.
package struct PhasedTransfer: Hashable, Sendable, Fielded {
  package let transfer: TransferID
  package let phase: TransferPhase

  package init(_ transfer: TransferID, _ phase: TransferPhase) {
    self.transfer = transfer
    self.phase = phase
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    phase = try f.field("phase", value?.phase)
    transfer = try f.field("transfer", value?.transfer)
  }
}

/// The time between two requests that the robots.txt of a host asks for.
package struct CrawlDelay: Hashable, Sendable, Fielded {
  /// See ``ImageURL/host``.
  package let host: String
  package let delay: Duration

  /// A longer one counts as this.
  package static let maximum = Duration.seconds(30)

  package init(of host: String, _ delay: Duration) {
    self.host = host
    self.delay = min(delay, Self.maximum)
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    delay = min(try f.field("delay_ms", value?.delay), Self.maximum)
    host = try f.field("host", value?.host)
  }
}

/// The result of a look-up. Each lease of the batch is in exactly one of `hits`, `originals` and
/// `misses`.
package struct LookupResults: Hashable, Sendable, Fielded {
  package struct Hit: Hashable, Sendable, Fielded {
    package let lease: LeaseID
    package let thumbnail: Thumbnail

    package init(lease: LeaseID, thumbnail: Thumbnail) {
      self.lease = lease
      self.thumbnail = thumbnail
    }

    package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
      lease = try f.field("lease", value?.lease)
      thumbnail = try f.field("thumbnail", value?.thumbnail)
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

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    hits = try f.field("hits", value?.hits)
    misses = try f.field("misses", value?.misses)
    originals = try f.field("originals", value?.originals)
    stale = try f.field("stale", value?.stale)
  }
}

/// A preview of a picture whose body is arriving.
package struct MadePreview: Hashable, Sendable, Fielded {
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

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    lease = try f.field("lease", value?.lease)
    shownByteCount = try f.field("shown_bytes", value?.shownByteCount)
    thumbnail = try f.field("thumbnail", value?.thumbnail)
  }
}

/// How much of the body of a lease has arrived.
package struct LeaseProgress: Hashable, Sendable, Fielded {
  /// The lease that the body is fetched for. It goes on.
  package let lease: LeaseID
  package let progress: ImageProgress

  package init(lease: LeaseID, progress: ImageProgress) {
    self.lease = lease
    self.progress = progress
  }

  /// The members of the progress are beside the lease.
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    lease = try f.field("lease", value?.lease)
    progress = try ImageProgress(&f, value?.progress)
  }
}

/// A redirected transfer that waits for a slot where its redirect leads, at the same host or another.
package struct Redirection: Hashable, Sendable, Fielded {
  package let transfer: TransferID
  /// The host there, see ``ImageURL/host``.
  package let host: String
  /// The origin there, see ``ImageURL/origin``.
  package let origin: String

  package init(transfer: TransferID, host: String, origin: String) {
    self.transfer = transfer
    self.host = host
    self.origin = origin
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    host = try f.field("host", value?.host)
    origin = try f.field("origin", value?.origin)
    transfer = try f.field("transfer", value?.transfer)
  }
}

/// The result of a lease whose thumbnail is not in the store.
package struct UncachedResult: Hashable, Sendable, Fielded {
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

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    bytesFetched = try f.field("bytes_fetched", value?.bytesFetched)
    lease = try f.field("lease", value?.lease)
    made = try f.field("made", value?.made)
    isStoreDegraded = try f.field("store_degraded", value?.isStoreDegraded)
  }
}

/// What confines a worker and its decoders.
package struct WorkerSandbox: Hashable, Sendable, Fielded {
  package let worker: SandboxReport
  package let decoder: SandboxReport

  package init(worker: SandboxReport, decoder: SandboxReport) {
    self.worker = worker
    self.decoder = decoder
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    decoder = try f.field("decoder", value?.decoder)
    worker = try f.field("worker", value?.worker)
  }
}
