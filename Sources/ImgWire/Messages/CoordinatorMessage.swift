@_spi(Coding) package import ImgModel

/// A message from the coordinator to a worker.
package indirect enum CoordinatorMessage: Hashable, WireMessage {
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
  case followRedirects([TransferID])
  /// Clients wait for this lease from now on, so that limits of bandwidth hold it after all others. They may want
  /// to be told of its picture while it arrives: the worker sends previews as `preview`, and how much has arrived
  /// as `progress`. Without updates no client waits for the lease any more. The worker ignores a lease that has
  /// ended.
  case updates(LeaseID, ArrivalUpdates?)
  /// No client and no job waits for these leases. The worker may stop their work. Each lease still
  /// ends with a result; the coordinator ignores it.
  case cancel([LeaseID])
  /// Remove thumbnails that have expired by this moment, which may be in the past, from the store, in small
  /// steps between other work. The worker answers with `store` at once.
  case sweep(expiredAt: WallTime)
  /// These jobs pin nothing any more: remove their pins from the store, in small steps between other work.
  /// The worker answers with `store` when it has.
  case unpin([JobID])
  /// The network of this machine may be another one: use no connection again that is open now, and no address that is
  /// known now.
  case dropConnections
  /// A decoder of this worker has ended, or could not be started.
  case decoderExited(DecoderExit)
  /// Finish all leases, then exit.
  case drain

  package var announcesFile: Bool {
    if case .decodeUpload = self { true } else { false }
  }
}

extension CoordinatorMessage {
  package func write(to f: inout Fields) throws(FieldError) {
    switch self {
    case .welcome(let payload): try f.message("welcome", payload)
    case .lookup(let payload): try f.message("lookup", payload)
    case .fetch(let payload): try f.message("fetch", payload)
    case .attach(let payload): try f.message("attach", payload)
    case .decode(let payload): try f.message("decode", payload)
    case .decodeUpload(let payload): try f.message("decode_upload", payload)
    case .followRedirects(let transfers): try f.message("follow_redirects", "transfers", transfers)
    case .updates(let lease, let updates):
      try f.message("updates", "lease", lease)
      try f.optional("updates", updates)
    case .cancel(let leases): try f.message("cancel", "leases", leases)
    case .sweep(let moment): try f.message("sweep", "expired_at", moment)
    case .unpin(let jobs): try f.message("unpin", "jobs", jobs)
    case .decoderExited(let payload): try f.message("decoder_exited", payload)
    case .dropConnections: f.message("drop_connections")
    case .drain: f.message("drain")
    }
  }

  package static func read(
    _ type: String, from f: inout Fields
  ) throws(FieldError) -> Self? {
    switch type {
    case "welcome": .welcome(try f.payload())
    case "lookup": .lookup(try f.payload())
    case "fetch": .fetch(try f.payload())
    case "attach": .attach(try f.payload())
    case "decode": .decode(try f.payload())
    case "decode_upload": .decodeUpload(try f.payload())
    case "follow_redirects": .followRedirects(try f.member("transfers"))
    case "updates": .updates(try f.member("lease"), try f.optional("updates", nil))
    case "cancel": .cancel(try f.member("leases"))
    case "sweep": .sweep(expiredAt: try f.member("expired_at"))
    case "unpin": .unpin(try f.member("jobs"))
    case "decoder_exited": .decoderExited(try f.payload())
    case "drop_connections": .dropConnections
    case "drain": .drain
    default: nil
    }
  }
}

/// One leased URL.
package struct Assignment: Hashable, Sendable, Fielded {
  package let lease: LeaseID
  /// The URL as in ``ImageURL/text``.
  package let url: String

  package init(lease: LeaseID, url: String) {
    self.lease = lease
    self.url = url
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    lease = try f.field("lease", value?.lease)
    url = try f.field("url", value?.url)
  }
}

/// URLs with the same request.
package struct Batch: Hashable, Sendable, Fielded {
  package let request: ThumbnailRequest
  /// The retention of the results. In a look-up it applies to the hits: the worker extends a shorter
  /// retention before it answers.
  package let retention: Retention
  /// Whether a client waits for each result now. The worker decodes urgent pictures first, newest first.
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

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    items = try f.field("items", value?.items)
    request = try f.field("request", value?.request)
    retention = try f.field("retention", value?.retention)
    takesStale = try f.field("stale_if_error", value?.takesStale)
    isUrgent = try f.field("urgent", value?.isUrgent)
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
extension DecoderExit: Fielded {
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    decoder = try f.field("decoder", value?.decoder)
    if let end = value?.end {
      switch end {
      case .exited(let status): try f.field("exit_status", status)
      case .notStarted(let reason): try f.field("not_started", reason)
      case .signalled(let signal): try f.field("signal", signal)
      }
      self.end = end
    } else if let status: Int32 = try f.optional("exit_status", nil) {
      end = .exited(status)
    } else if let reason: String = try f.optional("not_started", nil) {
      end = .notStarted(reason)
    } else {
      end = .signalled(try f.field("signal", nil))
    }
  }
}

/// The lease for an uploaded picture.
package struct Upload: Hashable, Sendable, Fielded {
  package let lease: LeaseID
  /// The URL under which the result is stored; `nil` if it is not stored.
  package let url: String?
  package let request: ThumbnailRequest
  package let retention: Retention
  /// The size of the file beside the message.
  package let byteCount: Int
  /// See ``UploadRequest/wantsPixels``.
  package let wantsPixels: Bool
  /// What a cache reads of the response, if the picture was fetched from its URL; `nil` if it was not.
  package let response: HeaderFields?

  package init(
    lease: LeaseID, url: String?, request: ThumbnailRequest, retention: Retention, byteCount: Int,
    wantsPixels: Bool = false, response: HeaderFields? = nil
  ) {
    self.lease = lease
    self.url = url
    self.request = request
    self.retention = retention
    self.byteCount = byteCount
    self.wantsPixels = wantsPixels
    self.response = response
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    byteCount = try f.field("bytes", value?.byteCount)
    lease = try f.field("lease", value?.lease)
    wantsPixels = try f.field("pixels", value?.wantsPixels)
    request = try f.field("request", value?.request)
    response = try f.optional("response", value?.response)
    retention = try f.field("retention", value?.retention)
    url = try f.optional("url", value?.url)
  }
}

/// The settings that a worker starts with.
package struct Welcome: Hashable, Sendable, Fielded {
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

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    allowedDirectories = try f.field("allowed_directories", value?.allowedDirectories)
    allowedNetworks = try f.field("allowed_networks", value?.allowedNetworks)
    authorityFile = try f.optional("ca_file", value?.authorityFile)
    hello = try f.field("hello", value?.hello)
    limits = try f.field("limits", value?.limits)
    proxies = try f.field("proxy", value?.proxies)
    requiresSandbox = try f.field("require_sandbox", value?.requiresSandbox)
    storeDirectory = try f.field("store_directory", value?.storeDirectory)
  }
}
