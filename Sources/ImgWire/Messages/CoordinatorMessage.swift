package import ImgModel

/// A message from the coordinator to a worker.
package enum CoordinatorMessage: Hashable, WireMessage {
  package static let sender = "coordinator"

  /// The answer to the worker's hello: the settings that the worker starts with.
  case welcome(Welcome)
  /// Look up these URLs in the store. The worker answers with one `looked_up`, which ends the leases.
  case lookup(Batch)
  /// Fetch, decode and store these URLs. Each lease ends with a result in `finished`, an `uncached`
  /// or a `released`.
  case fetch(Batch)
  /// Attach these URLs to the transfers that this worker runs for them, then decode and store them. A
  /// lease whose transfer is over is made from the original in the store, or released. Each lease ends
  /// like a lease of `fetch`.
  case attach(Batch)
  /// Decode and store these URLs from what is on this machine: the original in the store, or a `data:`
  /// or `file:` URL. A lease whose original is missing is released. Each lease ends like a lease of
  /// `fetch`.
  case decode(Batch)
  /// Decode the uploaded picture in the file beside this message. The lease ends like a lease of
  /// `fetch`.
  case decodeUpload(Upload)
  /// Continue these redirected transfers: they have slots at their new hosts.
  case followRedirects(TransferList)
  /// Clients want previews of the pictures of these leases while they arrive. The worker sends some as
  /// `preview`. It ignores leases whose body has arrived, or that have none to wait for.
  case preview(LeaseList)
  /// Clients want to know how much of the bodies of these leases has arrived. The worker sends it as
  /// `progress`. It ignores leases whose body has arrived, or that have none to wait for.
  case progress(LeaseList)
  /// No client and no job waits for these leases. The worker may stop their work. Each lease still
  /// ends with a result; the coordinator ignores it.
  case cancel(LeaseList)
  /// Remove expired thumbnails from the store, in small steps between other work. The worker answers with
  /// `store` at once.
  case sweep(Sweep)
  /// These jobs pin nothing any more: remove their pins from the store, in small steps between other work.
  /// The worker answers with `store` when it has.
  case unpin(JobList)
  /// A decoder of this worker has ended, or could not be started.
  case decoderExited(DecoderExit)
  /// Finish all leases, then exit.
  case drain

  package var announcesFile: Bool {
    if case .decodeUpload = self { true } else { false }
  }
}

extension CoordinatorMessage {
  enum Kind: String, Codable {
    case welcome, lookup, fetch, attach, decode
    case decodeUpload = "decode_upload"
    case followRedirects = "follow_redirects"
    case preview, progress, cancel, sweep, unpin
    case decoderExited = "decoder_exited"
    case drain
  }

  package init(from decoder: any Decoder) throws {
    switch try decoder.container(keyedBy: TypeKey.self).decode(Kind.self, forKey: .type) {
    case .welcome: self = .welcome(try Welcome(from: decoder))
    case .lookup: self = .lookup(try Batch(from: decoder))
    case .fetch: self = .fetch(try Batch(from: decoder))
    case .attach: self = .attach(try Batch(from: decoder))
    case .decode: self = .decode(try Batch(from: decoder))
    case .decodeUpload: self = .decodeUpload(try Upload(from: decoder))
    case .followRedirects: self = .followRedirects(try TransferList(from: decoder))
    case .preview: self = .preview(try LeaseList(from: decoder))
    case .progress: self = .progress(try LeaseList(from: decoder))
    case .cancel: self = .cancel(try LeaseList(from: decoder))
    case .sweep: self = .sweep(try Sweep(from: decoder))
    case .unpin: self = .unpin(try JobList(from: decoder))
    case .decoderExited: self = .decoderExited(try DecoderExit(from: decoder))
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
      case .attach(let batch): (.attach, batch)
      case .decode(let batch): (.decode, batch)
      case .decodeUpload(let upload): (.decodeUpload, upload)
      case .followRedirects(let list): (.followRedirects, list)
      case .preview(let list): (.preview, list)
      case .progress(let list): (.progress, list)
      case .cancel(let list): (.cancel, list)
      case .sweep(let sweep): (.sweep, sweep)
      case .unpin(let list): (.unpin, list)
      case .decoderExited(let exit): (.decoderExited, exit)
      case .drain: (.drain, nil)
      }
    try container.encode(kind, forKey: .type)
    try payload?.encode(to: encoder)
  }
}

// Batches of URLs have code of their own.

extension CoordinatorMessage {
  package func write(to json: inout JSONWriter) throws -> Bool {
    switch self {
    case .lookup(let batch): try batch.write(to: &json, kind: .lookup)
    case .fetch(let batch): try batch.write(to: &json, kind: .fetch)
    case .attach(let batch): try batch.write(to: &json, kind: .attach)
    case .decode(let batch): try batch.write(to: &json, kind: .decode)
    default: return false
    }
    return true
  }

  package static func read(
    _ json: inout JSONReader
  ) throws(JSONReader.NotCanonical) -> CoordinatorMessage {
    let (kind, batch) = try Batch.read(&json)
    switch kind {
    case .lookup: return .lookup(batch)
    case .fetch: return .fetch(batch)
    case .attach: return .attach(batch)
    case .decode: return .decode(batch)
    default: throw JSONReader.NotCanonical()
    }
  }
}

extension Batch {
  fileprivate func write(
    to json: inout JSONWriter, kind: CoordinatorMessage.Kind
  ) throws {
    try json.object { json in
      json.member("items")
      json.array(items) { json, item in item.write(to: &json) }
      json.member("request")
      try json.request(request)
      json.member("retention")
      try json.retention(retention)
      json.member("stale_if_error")
      json.bool(takesStale)
      json.member("type")
      json.string(kind.rawValue)
      json.member("urgent")
      json.bool(isUrgent)
    }
  }

  fileprivate static func read(
    _ json: inout JSONReader
  ) throws(JSONReader.NotCanonical) -> (CoordinatorMessage.Kind, Batch) {
    try json.object { json throws(JSONReader.NotCanonical) in
      try json.member("items")
      let items = try json.array(Assignment.read)
      try json.member("request")
      let request = try json.request()
      try json.member("retention")
      let retention = try json.retention()
      try json.member("stale_if_error")
      let takesStale = try json.bool()
      try json.member("type")
      let kind: CoordinatorMessage.Kind = try json.text()
      try json.member("urgent")
      return (
        kind,
        Batch(
          request, retention: retention, isUrgent: try json.bool(), items: items,
          takesStale: takesStale)
      )
    }
  }
}

extension Assignment {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("lease")
      json.number(lease.rawValue)
      json.member("url")
      json.string(url)
    }
  }

  fileprivate static func read(
    _ json: inout JSONReader
  ) throws(JSONReader.NotCanonical) -> Assignment {
    try json.object { json throws(JSONReader.NotCanonical) in
      try json.member("lease")
      let lease = LeaseID(rawValue: try json.number())
      try json.member("url")
      return Assignment(lease: lease, url: try json.string())
    }
  }
}

/// One leased URL.
package struct Assignment: Hashable, Sendable, Codable {
  package let lease: LeaseID
  /// The URL as in ``ImageURL/text``.
  package let url: String

  package init(lease: LeaseID, url: String) {
    self.lease = lease
    self.url = url
  }
}

/// URLs with the same request.
package struct Batch: Hashable, Sendable, Codable {
  package let request: ThumbnailRequest
  /// The retention of the results. In a look-up it applies to the hits: the worker extends a shorter
  /// retention before it answers.
  package let retention: Retention
  /// Whether a client waits for each result. The worker decodes urgent pictures first, newest first.
  package let isUrgent: Bool
  package let items: [Assignment]
  /// Whether a stale record counts as a hit if stale-if-error allows it (RFC 5861 section 4). Set
  /// while the host's circuit breaker is open or half-open.
  package let takesStale: Bool

  package init(
    _ request: ThumbnailRequest, retention: Retention, isUrgent: Bool, items: [Assignment],
    takesStale: Bool = false
  ) {
    self.request = request
    self.retention = retention
    self.isUrgent = isUrgent
    self.items = items
    self.takesStale = takesStale
  }

  private enum CodingKeys: String, CodingKey {
    case request, retention
    case isUrgent = "urgent"
    case items
    case takesStale = "stale_if_error"
  }
}

/// The end of one decoder process.
package struct DecoderExit: Hashable, Sendable {
  package enum End: Hashable, Sendable {
    /// The process called exit with this value.
    case exited(Int32)
    /// The signal with this number killed the process.
    case signalled(Int32)
    /// There is no process, for this reason.
    case notStarted(String)
  }

  package let decoder: DecoderID
  package let end: End

  package init(decoder: DecoderID, end: End) {
    self.decoder = decoder
    self.end = end
  }
}

/// Exactly one of the members `exit_status`, `signal` and `not_started` is present.
extension DecoderExit: Codable {
  private enum CodingKeys: String, CodingKey {
    case decoder
    case exitStatus = "exit_status"
    case signal
    case notStarted = "not_started"
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.decoder = try container.decode(DecoderID.self, forKey: .decoder)
    if let status = try container.decodeIfPresent(Int32.self, forKey: .exitStatus) {
      end = .exited(status)
    } else if let signal = try container.decodeIfPresent(Int32.self, forKey: .signal) {
      end = .signalled(signal)
    } else {
      end = .notStarted(try container.decode(String.self, forKey: .notStarted))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(decoder, forKey: .decoder)
    switch end {
    case .exited(let status): try container.encode(status, forKey: .exitStatus)
    case .signalled(let signal): try container.encode(signal, forKey: .signal)
    case .notStarted(let reason): try container.encode(reason, forKey: .notStarted)
    }
  }
}

/// The thumbnails that a worker removes from the store.
package struct Sweep: Hashable, Sendable, Codable {
  /// The worker removes thumbnails that have expired by this moment, which may be in the past.
  package let moment: WallTime

  package init(at moment: WallTime) {
    self.moment = moment
  }

  private enum CodingKeys: String, CodingKey {
    case moment = "expired_at"
  }
}

/// A list of transfers.
package struct TransferList: Hashable, Sendable, Codable {
  package let transfers: [TransferID]

  package init(transfers: [TransferID]) {
    self.transfers = transfers
  }
}

/// The lease for an uploaded picture.
package struct Upload: Hashable, Sendable, Codable {
  package let lease: LeaseID
  /// The URL under which the result is stored; `nil` if it is not stored.
  package let url: String?
  package let request: ThumbnailRequest
  package let retention: Retention
  /// The size of the file beside the message.
  package let byteCount: Int
  /// See ``UploadRequest/wantsPixels``.
  package let wantsPixels: Bool

  package init(
    lease: LeaseID, url: String?, request: ThumbnailRequest, retention: Retention, byteCount: Int,
    wantsPixels: Bool = false
  ) {
    self.lease = lease
    self.url = url
    self.request = request
    self.retention = retention
    self.byteCount = byteCount
    self.wantsPixels = wantsPixels
  }

  private enum CodingKeys: String, CodingKey {
    case lease, url, request, retention
    case byteCount = "bytes"
    case wantsPixels = "pixels"
  }
}

/// The settings that a worker starts with.
package struct Welcome: Hashable, Sendable, Codable {
  package let hello: Hello
  package let limits: Limits
  /// The store's directory.
  package let storeDirectory: String
  /// The networks with non-public addresses that the worker may fetch from.
  package let allowedNetworks: [NetworkRange]
  /// The absolute paths of directories whose files `file:` URLs may name.
  package let allowedDirectories: [String]
  /// A PEM file of the trusted certificate authorities; `nil` for those of the system.
  package let authorityFile: String?
  /// The proxies, with their credentials.
  package let proxies: ProxySettings
  /// Whether a worker refuses to start if a part of a sandbox is missing.
  package let requiresSandbox: Bool

  package init(
    hello: Hello, limits: Limits, storeDirectory: String, allowedNetworks: [NetworkRange],
    allowedDirectories: [String] = [], authorityFile: String? = nil,
    proxies: ProxySettings = .none, requiresSandbox: Bool = false
  ) {
    self.hello = hello
    self.limits = limits
    self.storeDirectory = storeDirectory
    self.allowedNetworks = allowedNetworks
    self.allowedDirectories = allowedDirectories
    self.authorityFile = authorityFile
    self.proxies = proxies
    self.requiresSandbox = requiresSandbox
  }

  private enum CodingKeys: String, CodingKey {
    case hello
    case limits
    case storeDirectory = "store_directory"
    case allowedNetworks = "allowed_networks"
    case allowedDirectories = "allowed_directories"
    case authorityFile = "ca_file"
    case proxies = "proxy"
    case requiresSandbox = "require_sandbox"
  }
}

/// A list of leases.
package struct LeaseList: Hashable, Sendable, Codable {
  package let leases: [LeaseID]

  package init(leases: [LeaseID]) {
    self.leases = leases
  }
}
