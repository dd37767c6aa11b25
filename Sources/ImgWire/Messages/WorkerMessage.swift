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
  /// The last byte of these is in: their places in the cluster and at their hosts are free.
  case transferred(LeaseList)
  /// The bodies that these were to ride on are gone: their leases are over without a result.
  case gone(LeaseList)
  /// The ends of `fetch` and `ride` leases.
  case finished(FetchResults)
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

/// A look-up's findings; every lease of the batch is in exactly one list.
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
  package let misses: [LeaseID]

  package init(hits: [Hit], misses: [LeaseID]) {
    self.hits = hits
    self.misses = misses
  }
}

/// The ends of leases.
package struct FetchResults: Hashable, Sendable, Codable {
  package struct Result: Hashable, Sendable, Codable {
    package let lease: LeaseID
    package let outcome: Outcome

    package init(lease: LeaseID, outcome: Outcome) {
      self.lease = lease
      self.outcome = outcome
    }
  }

  package let results: [Result]

  package init(results: [Result]) {
    self.results = results
  }
}

extension WorkerMessage {
  private enum Kind: String, Codable {
    case hello, ready, refused
    case lookedUp = "looked_up"
    case transferred, gone, finished
  }

  package init(from decoder: any Decoder) throws {
    switch try decoder.container(keyedBy: TypeKey.self).decode(Kind.self, forKey: .type) {
    case .hello: self = .hello(try Hello(from: decoder))
    case .ready: self = .ready(try Credits(from: decoder))
    case .refused: self = .refused(try Refusal(from: decoder))
    case .lookedUp: self = .lookedUp(try LookupResults(from: decoder))
    case .transferred: self = .transferred(try LeaseList(from: decoder))
    case .gone: self = .gone(try LeaseList(from: decoder))
    case .finished: self = .finished(try FetchResults(from: decoder))
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
      case .transferred(let list): (.transferred, list)
      case .gone(let list): (.gone, list)
      case .finished(let results): (.finished, results)
      }
    try container.encode(kind, forKey: .type)
    try payload.encode(to: encoder)
  }
}
