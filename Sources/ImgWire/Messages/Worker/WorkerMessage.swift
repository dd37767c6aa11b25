package import ImgModel

/// A message from a worker to the coordinator.
package enum WorkerMessage: Hashable, WireMessage {
  package static let sender = "worker"

  /// The first message.
  case hello(Hello)
  /// libcurl and the store are ready. The worker accepts this much work at once.
  case ready(Credits)
  /// The worker cannot start, or its decoders cannot, and exits.
  case refused(Refusal)
  /// The answer to one `lookup`.
  case lookedUp(LookupResults)
  /// Facts about hosts. The worker sends them before the other messages of one turn of its loop, so
  /// the scheduler knows them when those messages free slots.
  case hostUpdates(HostUpdates)
  /// Transfers were redirected to other hosts. Each continues after a `follow_redirects`.
  case redirected(Redirections)
  /// The last byte of these transfers arrived. Their slots in the cluster and at their hosts are free.
  case transferred(LeaseList)
  /// These leases end without a result, because the body or the original that they need is no
  /// longer available or their host is in a cooldown. The coordinator requeues them.
  case released(LeaseList)
  /// The results of `fetch`, `attach`, `decode` and `decode_upload` leases. Thumbnails that are done
  /// are in the store.
  case finished(FetchResults)
  /// The result of one such lease whose thumbnail is not in the store. The file beside this message
  /// has its bytes.
  case uncached(UncachedResult)
  /// A preview for a lease, which goes on. The file beside this message has its bytes.
  case preview(MadePreview)
  /// How much of the bodies of leases has arrived. The worker sends it before the messages that end these
  /// leases.
  case progress(ProgressReport)
  /// Start a decoder. The file beside this message is its end of a socket pair, which it gets as
  /// `DecoderDescriptor.channel`. Each decoder ends with one `decoder_exited`.
  case startDecoder(DecoderReference)
  /// Kill this decoder. Has no effect if it has exited.
  case endDecoder(DecoderReference)
  /// The store has the pictures of these leases, look-ups or fetches, but pinned thumbnails leave no room to
  /// pin them. What was fetched for them is stored without pins.
  case unpinned(LeaseList)
  /// The size of the store. The answer to `sweep` and `unpin`; for the latter, when it is done.
  case store(StoreReport)
  /// What confines this worker and its first decoder. Sent once, when the decoder is ready.
  case sandboxed(WorkerSandbox)

  package var announcesFile: Bool {
    switch self {
    case .uncached, .preview, .startDecoder: true
    default: false
    }
  }
}

extension WorkerMessage {
  enum Kind: String, Codable {
    case hello, ready, refused
    case lookedUp = "looked_up"
    case hostUpdates = "host_updates"
    case redirected, transferred, released, finished, uncached, preview, progress
    case startDecoder = "start_decoder"
    case endDecoder = "end_decoder"
    case unpinned, store, sandboxed
  }

  package init(from decoder: any Decoder) throws {
    switch try decoder.container(keyedBy: TypeKey.self).decode(Kind.self, forKey: .type) {
    case .hello: self = .hello(try Hello(from: decoder))
    case .ready: self = .ready(try Credits(from: decoder))
    case .refused: self = .refused(try Refusal(from: decoder))
    case .lookedUp: self = .lookedUp(try LookupResults(from: decoder))
    case .hostUpdates: self = .hostUpdates(try HostUpdates(from: decoder))
    case .redirected: self = .redirected(try Redirections(from: decoder))
    case .transferred: self = .transferred(try LeaseList(from: decoder))
    case .released: self = .released(try LeaseList(from: decoder))
    case .finished: self = .finished(try FetchResults(from: decoder))
    case .uncached: self = .uncached(try UncachedResult(from: decoder))
    case .preview: self = .preview(try MadePreview(from: decoder))
    case .progress: self = .progress(try ProgressReport(from: decoder))
    case .startDecoder: self = .startDecoder(try DecoderReference(from: decoder))
    case .endDecoder: self = .endDecoder(try DecoderReference(from: decoder))
    case .unpinned: self = .unpinned(try LeaseList(from: decoder))
    case .store: self = .store(try StoreReport(from: decoder))
    case .sandboxed: self = .sandboxed(try WorkerSandbox(from: decoder))
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
      case .hostUpdates(let updates): (.hostUpdates, updates)
      case .redirected(let redirections): (.redirected, redirections)
      case .transferred(let list): (.transferred, list)
      case .released(let list): (.released, list)
      case .finished(let results): (.finished, results)
      case .uncached(let result): (.uncached, result)
      case .preview(let preview): (.preview, preview)
      case .progress(let report): (.progress, report)
      case .startDecoder(let reference): (.startDecoder, reference)
      case .endDecoder(let reference): (.endDecoder, reference)
      case .unpinned(let list): (.unpinned, list)
      case .store(let report): (.store, report)
      case .sandboxed(let sandbox): (.sandboxed, sandbox)
      }
    try container.encode(kind, forKey: .type)
    try payload.encode(to: encoder)
  }
}
