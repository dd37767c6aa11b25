/// What the coordinator says to a worker.
package enum CoordinatorMessage: Hashable, WireMessage {
  package static let speaker = "coordinator"

  /// The answer to the worker's hello: everything it needs to begin.
  case welcome(Welcome)
  /// Look these up in the store; answered by one `looked_up`, after which the leases are over.
  case lookup(Batch)
  /// Fetch, decode and store these; each lease ends with its result in a `finished`, or with an
  /// `unstored`.
  case fetch(Batch)
  /// Decode and store these from the body of a fetch of the same URL that this worker was given
  /// before and whose body it still receives or holds, or from the original that the store has, or
  /// from the URL itself; each lease ends as one of a `fetch` does, or with a `gone`.
  case ride(Batch)
  /// Decode the picture in the file beside this message; its lease ends as one of a `fetch` does.
  case decode(HandedInPicture)
  /// These transfers have slots at the hosts to which their redirects lead: they go on there.
  case follow(LeaseList)
  /// Nobody waits for these any more. Each still ends with a result, which may be any.
  case cancel(LeaseList)
  /// Remove what has expired from the store, little by little beside all else; not answered.
  case sweep(Sweep)
  /// Finish what runs, then leave.
  case drain

  package var announcesFile: Bool {
    if case .decode = self { true } else { false }
  }
}

/// What a worker needs to know before it takes work.
package struct Welcome: Hashable, Sendable, Codable {
  package let hello: Hello
  package let limits: Limits
  /// The directory of the shared store.
  package let storeDirectory: String
  /// Blocks of addresses that may be fetched from although they are not public.
  package let allowedNetworks: [NetworkRange]
  /// Directories below which files may be read that `file:` URLs name; absolute.
  package let allowedDirectories: [String]
  /// Certificates of the authorities to trust, as PEM; `nil` for those of the system.
  package let authorityFile: String?

  package init(
    hello: Hello, limits: Limits, storeDirectory: String, allowedNetworks: [NetworkRange],
    allowedDirectories: [String] = [], authorityFile: String? = nil
  ) {
    self.hello = hello
    self.limits = limits
    self.storeDirectory = storeDirectory
    self.allowedNetworks = allowedNetworks
    self.allowedDirectories = allowedDirectories
    self.authorityFile = authorityFile
  }

  private enum CodingKeys: String, CodingKey {
    case hello
    case limits
    case storeDirectory = "store_directory"
    case allowedNetworks = "allowed_networks"
    case allowedDirectories = "allowed_directories"
    case authorityFile = "ca_file"
  }
}

/// A picture that was handed in, under one lease.
package struct HandedInPicture: Hashable, Sendable, Codable {
  package let lease: LeaseID
  /// Under which it is stored; `nil` to have the thumbnail handed over.
  package let url: String?
  package let variant: Variant
  package let keep: Keep
  package let retention: Retention
  /// Bytes in the file beside the message.
  package let byteCount: Int

  package init(
    lease: LeaseID, url: String?, variant: Variant, keep: Keep, retention: Retention,
    byteCount: Int
  ) {
    self.lease = lease
    self.url = url
    self.variant = variant
    self.keep = keep
    self.retention = retention
    self.byteCount = byteCount
  }

  private enum CodingKeys: String, CodingKey {
    case lease, url, variant, keep, retention
    case byteCount = "bytes"
  }
}

/// Leases by their number.
package struct LeaseList: Hashable, Sendable, Codable {
  package let leases: [LeaseID]

  package init(leases: [LeaseID]) {
    self.leases = leases
  }
}

/// Which thumbnails a worker is to remove.
package struct Sweep: Hashable, Sendable, Codable {
  /// Those that have expired at this moment, which may be the past.
  package let moment: WallTime

  package init(at moment: WallTime) {
    self.moment = moment
  }

  private enum CodingKeys: String, CodingKey {
    case moment = "expired_at"
  }
}

extension CoordinatorMessage {
  private enum Kind: String, Codable {
    case welcome, lookup, fetch, ride, decode, follow, cancel, sweep, drain
  }

  package init(from decoder: any Decoder) throws {
    switch try decoder.container(keyedBy: TypeKey.self).decode(Kind.self, forKey: .type) {
    case .welcome: self = .welcome(try Welcome(from: decoder))
    case .lookup: self = .lookup(try Batch(from: decoder))
    case .fetch: self = .fetch(try Batch(from: decoder))
    case .ride: self = .ride(try Batch(from: decoder))
    case .decode: self = .decode(try HandedInPicture(from: decoder))
    case .follow: self = .follow(try LeaseList(from: decoder))
    case .cancel: self = .cancel(try LeaseList(from: decoder))
    case .sweep: self = .sweep(try Sweep(from: decoder))
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
      case .decode(let picture): (.decode, picture)
      case .follow(let list): (.follow, list)
      case .cancel(let list): (.cancel, list)
      case .sweep(let sweep): (.sweep, sweep)
      case .drain: (.drain, nil)
      }
    try container.encode(kind, forKey: .type)
    try payload?.encode(to: encoder)
  }
}
