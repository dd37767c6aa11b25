@_spi(Coding) package import ImgModel

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
  /// has its bytes. Boxed: the others are much smaller.
  indirect case uncached(UncachedResult)
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
  package func write(to f: inout Fields) throws(FieldError) {
    switch self {
    case .hello(let payload): try f.message("hello", payload)
    case .ready(let payload): try f.message("ready", payload)
    case .refused(let payload): try f.message("refused", payload)
    case .lookedUp(let payload): try f.message("looked_up", payload)
    case .hostUpdates(let payload): try f.message("host_updates", payload)
    case .redirected(let payload): try f.message("redirected", payload)
    case .transferred(let payload): try f.message("transferred", payload)
    case .released(let payload): try f.message("released", payload)
    case .finished(let payload): try f.message("finished", payload)
    case .uncached(let payload): try f.message("uncached", payload)
    case .preview(let payload): try f.message("preview", payload)
    case .progress(let payload): try f.message("progress", payload)
    case .startDecoder(let payload): try f.message("start_decoder", payload)
    case .endDecoder(let payload): try f.message("end_decoder", payload)
    case .unpinned(let payload): try f.message("unpinned", payload)
    case .store(let payload): try f.message("store", payload)
    case .sandboxed(let payload): try f.message("sandboxed", payload)
    }
  }

  package static func read(
    _ type: String, from f: inout Fields
  ) throws(FieldError) -> Self? {
    switch type {
    case "hello": .hello(try f.payload())
    case "ready": .ready(try f.payload())
    case "refused": .refused(try f.payload())
    case "looked_up": .lookedUp(try f.payload())
    case "host_updates": .hostUpdates(try f.payload())
    case "redirected": .redirected(try f.payload())
    case "transferred": .transferred(try f.payload())
    case "released": .released(try f.payload())
    case "finished": .finished(try f.payload())
    case "uncached": .uncached(try f.payload())
    case "preview": .preview(try f.payload())
    case "progress": .progress(try f.payload())
    case "start_decoder": .startDecoder(try f.payload())
    case "end_decoder": .endDecoder(try f.payload())
    case "unpinned": .unpinned(try f.payload())
    case "store": .store(try f.payload())
    case "sandboxed": .sandboxed(try f.payload())
    default: nil
    }
  }
}
