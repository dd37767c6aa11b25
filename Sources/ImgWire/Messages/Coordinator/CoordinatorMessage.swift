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
