/// What the coordinator says to a worker.
package enum CoordinatorMessage: Hashable, WireMessage {
  package static let speaker = "coordinator"

  /// The answer to the worker's hello: everything it needs to begin.
  case welcome(Welcome)
  /// Look these up in the store; answered by one `looked_up`, after which the leases are over.
  case lookup(Batch)
  /// Fetch, decode and store these; each lease ends with its result in a `finished`.
  case fetch(Batch)
  /// Decode and store these from the body of a fetch of the same URL that this worker was given
  /// before and whose body it still receives or holds; each lease ends as one of a `fetch` does, or
  /// with a `gone`.
  case ride(Batch)
  /// Nobody waits for these any more. Each still ends with a result, which may be any.
  case cancel(LeaseList)
  /// Finish what runs, then leave.
  case drain
}

/// What a worker needs to know before it takes work.
package struct Welcome: Hashable, Sendable, Codable {
  package let hello: Hello
  package let limits: Limits
  /// The directory of the shared store.
  package let storeDirectory: String
  /// Blocks of addresses that may be fetched from although they are not public.
  package let allowedNetworks: [NetworkRange]

  package init(
    hello: Hello, limits: Limits, storeDirectory: String, allowedNetworks: [NetworkRange]
  ) {
    self.hello = hello
    self.limits = limits
    self.storeDirectory = storeDirectory
    self.allowedNetworks = allowedNetworks
  }

  private enum CodingKeys: String, CodingKey {
    case hello
    case limits
    case storeDirectory = "store_directory"
    case allowedNetworks = "allowed_networks"
  }
}

/// Leases by their number.
package struct LeaseList: Hashable, Sendable, Codable {
  package let leases: [LeaseID]

  package init(leases: [LeaseID]) {
    self.leases = leases
  }
}

extension CoordinatorMessage {
  private enum Kind: String, Codable {
    case welcome, lookup, fetch, ride, cancel, drain
  }

  package init(from decoder: any Decoder) throws {
    switch try decoder.container(keyedBy: TypeKey.self).decode(Kind.self, forKey: .type) {
    case .welcome: self = .welcome(try Welcome(from: decoder))
    case .lookup: self = .lookup(try Batch(from: decoder))
    case .fetch: self = .fetch(try Batch(from: decoder))
    case .ride: self = .ride(try Batch(from: decoder))
    case .cancel: self = .cancel(try LeaseList(from: decoder))
    case .drain: self = .drain
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: TypeKey.self)
    let (kind, payload): (Kind, (any Encodable)?) =
      switch self {
      case .welcome(let welcome): (.welcome, welcome)
      case .lookup(let batch): (.lookup, batch)
      case .fetch(let batch): (.fetch, batch)
      case .ride(let batch): (.ride, batch)
      case .cancel(let list): (.cancel, list)
      case .drain: (.drain, nil)
      }
    try container.encode(kind, forKey: .type)
    try payload?.encode(to: encoder)
  }
}
