/// What a worker says to the coordinator.
package enum WorkerMessage: Hashable, WireMessage {
  package static let speaker = "worker"

  /// The first frame.
  case hello(Hello)
  /// libcurl, libvips and the store stand; so much work is taken at once.
  case ready(Credits)
  /// The worker cannot begin and leaves; the reason is for people.
  case refused(Refusal)
  /// The answer to one `lookup`.
  case lookedUp(LookupResults)
  /// What hosts have let know. Said before all else that a round of the worker's loop brings, so that
  /// what that frees is given out with it in mind.
  case noticed(HostNotices)
  /// Transfers have been redirected to other hosts. Each goes on once it is told to `follow`.
  case redirected(Redirections)
  /// The last byte of these is in: their places in the cluster and at their hosts are free.
  case transferred(LeaseList)
  /// The bodies that these were to ride on are gone, or their host wants to be left alone: their
  /// leases are over without a result.
  case gone(LeaseList)
  /// The ends of `fetch` and `ride` leases. What is done is in the store.
  case finished(FetchResults)
  /// The end of a `fetch` or `ride` lease: the thumbnail is made, but not in the store. The file
  /// beside this message holds it.
  case unstored(UnstoredResult)

  package var announcesFile: Bool {
    if case .unstored = self { true } else { false }
  }
}

/// How much a worker takes at once. What is assigned beyond it is a fault of the coordinator.
package struct Credits: Hashable, Sendable, Codable {
  /// URLs in look-ups that are not answered.
  package let lookups: Int
  /// Leases of fetches and rides without a result, at the very most.
  package let leases: Int
  /// Pictures that should wait for the decoder beside the transfers under way, so that it never
  /// waits for the network.
  package let backlog: Int

  package init(lookups: Int, leases: Int, backlog: Int) {
    self.lookups = lookups
    self.leases = leases
    self.backlog = backlog
  }
}

/// Why a worker does not begin.
package struct Refusal: Hashable, Sendable, Codable {
  package let reason: String

  package init(reason: String) {
    self.reason = reason
  }
}

/// A look-up's findings; every lease of the batch is in exactly one of hits, originals and misses.
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
  /// Those of the hits that are given out stale while their origins are to be asked about them.
  package let stale: [LeaseID]
  /// What can be made from the original of its URL, which the store has.
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

/// The ends of leases.
package struct FetchResults: Hashable, Sendable, Codable {
  package struct Result: Hashable, Sendable, Codable {
    package let lease: LeaseID
    package let outcome: Outcome
    /// Whether it came from where the host that was asked first has sent the worker.
    package let wasRedirected: Bool
    /// `nil` of what is from the cache or had no parts.
    package let timings: Timings?
    /// What the transfer has failed with, where the outcome is from the store all the same; `nil` in
    /// all other cases.
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
  /// Pictures that wait for the worker's decoder.
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

/// The end of a lease with a thumbnail that is not in the store.
package struct UnstoredResult: Hashable, Sendable, Codable {
  package let lease: LeaseID
  package let made: UnstoredThumbnail
  /// Bytes of body that the origin sent for it.
  package let bytesFetched: Int
  /// Whether it is the store that takes nothing now, rather than this thumbnail that is not for it.
  package let isStoreInTrouble: Bool

  package init(
    lease: LeaseID, made: UnstoredThumbnail, bytesFetched: Int, isStoreInTrouble: Bool
  ) {
    self.lease = lease
    self.made = made
    self.bytesFetched = bytesFetched
    self.isStoreInTrouble = isStoreInTrouble
  }

  private enum CodingKeys: String, CodingKey {
    case lease, made
    case bytesFetched = "bytes_fetched"
    case isStoreInTrouble = "store_in_trouble"
  }
}

/// Transfers that wait for slots at the hosts to which redirects lead.
package struct Redirections: Hashable, Sendable, Codable {
  package struct Redirection: Hashable, Sendable, Codable {
    /// The lease that began the transfer.
    package let transfer: LeaseID
    /// See ``ImageURL/host``.
    package let host: String

    package init(transfer: LeaseID, host: String) {
      self.transfer = transfer
      self.host = host
    }
  }

  package let redirections: [Redirection]

  package init(redirections: [Redirection]) {
    self.redirections = redirections
  }
}

extension WorkerMessage {
  private enum Kind: String, Codable {
    case hello, ready, refused
    case lookedUp = "looked_up"
    case noticed, redirected, transferred, gone, finished, unstored
  }

  package init(from decoder: any Decoder) throws {
    switch try decoder.container(keyedBy: TypeKey.self).decode(Kind.self, forKey: .type) {
    case .hello: self = .hello(try Hello(from: decoder))
    case .ready: self = .ready(try Credits(from: decoder))
    case .refused: self = .refused(try Refusal(from: decoder))
    case .lookedUp: self = .lookedUp(try LookupResults(from: decoder))
    case .noticed: self = .noticed(try HostNotices(from: decoder))
    case .redirected: self = .redirected(try Redirections(from: decoder))
    case .transferred: self = .transferred(try LeaseList(from: decoder))
    case .gone: self = .gone(try LeaseList(from: decoder))
    case .finished: self = .finished(try FetchResults(from: decoder))
    case .unstored: self = .unstored(try UnstoredResult(from: decoder))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: TypeKey.self)
    let (kind, payload): (Kind, any Encodable) =
      switch self {
      case .hello(let hello): (.hello, hello)
      case .ready(let credits): (.ready, credits)
      case .refused(let refusal): (.refused, refusal)
      case .lookedUp(let results): (.lookedUp, results)
      case .noticed(let notices): (.noticed, notices)
      case .redirected(let redirections): (.redirected, redirections)
      case .transferred(let list): (.transferred, list)
      case .gone(let list): (.gone, list)
      case .finished(let results): (.finished, results)
      case .unstored(let result): (.unstored, result)
      }
    try container.encode(kind, forKey: .type)
    try payload.encode(to: encoder)
  }
}
