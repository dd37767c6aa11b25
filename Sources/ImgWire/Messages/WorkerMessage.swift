@_spi(Coding) package import ImgModel

/// A message from a worker to the coordinator.
package enum WorkerMessage: Hashable, WireMessage {
  package static let sender = "worker"

  /// The first message.
  indirect case hello(Hello)
  /// libcurl and the store are ready. The worker accepts this much work at once.
  case ready(Credits)
  /// The worker cannot start, or its decoders cannot, and exits.
  case refused(reason: String)
  /// The answer to one `lookup`.
  case lookedUp(LookupResults)
  /// Facts about hosts. The worker sends them before the other messages of one turn of its loop, so
  /// the scheduler knows them when those messages free slots.
  case hostUpdates(HostUpdates)
  /// Transfers were redirected. Each continues after a `follow_redirects`.
  case redirected([Redirection])
  /// The last byte of these transfers arrived. Their slots in the cluster and at their hosts are free.
  case transferred([LeaseID])
  /// These leases end without a result, because the body or the original that they need is no
  /// longer available or their host is in a cooldown. The coordinator requeues them.
  case released([LeaseID])
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
  case progress([LeaseProgress])
  /// Start a decoder. The file beside this message is its end of a socket pair, which it gets as
  /// `DecoderDescriptor.channel`. Each decoder ends with one `decoder_exited`.
  case startDecoder(DecoderID)
  /// Kill this decoder. Has no effect if it has exited.
  case endDecoder(DecoderID)
  /// The store has the pictures of these leases, look-ups or fetches, but pinned thumbnails leave no room to
  /// pin them. What was fetched for them is stored without pins.
  case unpinned([LeaseID])
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
    case .refused(let reason): try f.message("refused", "reason", reason)
    case .lookedUp(let payload): try f.message("looked_up", payload)
    case .hostUpdates(let payload): try f.message("host_updates", payload)
    case .redirected(let redirections): try f.message("redirected", "redirections", redirections)
    case .transferred(let leases): try f.message("transferred", "leases", leases)
    case .released(let leases): try f.message("released", "leases", leases)
    case .finished(let payload): try f.message("finished", payload)
    case .uncached(let payload): try f.message("uncached", payload)
    case .preview(let payload): try f.message("preview", payload)
    case .progress(let entries): try f.message("progress", "entries", entries)
    case .startDecoder(let decoder): try f.message("start_decoder", "decoder", decoder)
    case .endDecoder(let decoder): try f.message("end_decoder", "decoder", decoder)
    case .unpinned(let leases): try f.message("unpinned", "leases", leases)
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
    case "refused": .refused(reason: try f.member("reason"))
    case "looked_up": .lookedUp(try f.payload())
    case "host_updates": .hostUpdates(try f.payload())
    case "redirected": .redirected(try f.member("redirections"))
    case "transferred": .transferred(try f.member("leases"))
    case "released": .released(try f.member("leases"))
    case "finished": .finished(try f.payload())
    case "uncached": .uncached(try f.payload())
    case "preview": .preview(try f.payload())
    case "progress": .progress(try f.member("entries"))
    case "start_decoder": .startDecoder(try f.member("decoder"))
    case "end_decoder": .endDecoder(try f.member("decoder"))
    case "unpinned": .unpinned(try f.member("leases"))
    case "store": .store(try f.payload())
    case "sandboxed": .sandboxed(try f.payload())
    default: nil
    }
  }
}

/// What a command asks a worker program for that it starts to fetch a list of URLs. It goes to the
/// program's standard input, as JSON.
package struct ListRequest: Hashable, Sendable, Fielded {
  /// The argument that makes `imgworker` fetch a list.
  package static let argument = "fetch-list"
  /// The longest JSON of a request.
  package static let maximumByteCount = 1 << 20

  package let url: String
  /// What a coordinator with the same settings sends its workers. The store is not used.
  package let welcome: Welcome

  package init(url: String, welcome: Welcome) {
    self.url = url
    self.welcome = welcome
  }

  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    url = try f.field("url", value?.url)
    welcome = try f.field("welcome", value?.welcome)
  }
}

/// What becomes of a list. It comes out of ``descriptor``, as JSON, before the list comes out of standard
/// output.
package enum ListAnswer: Hashable, Sendable {
  /// So many bytes follow. A list that breaks off ends with fewer.
  case found(byteCount: Int)
  case failed(Failure)

  /// The descriptor of the worker program that the answer is written to.
  package static let descriptor: CInt = 3
  /// The longest JSON of an answer.
  package static let maximumByteCount = 1 << 20
}

extension ListAnswer: Fielded {
  package init(_ f: inout Fields, _ value: Self?) throws(FieldError) {
    var (byteCount, failure): (Int?, Failure?)
    switch value {
    case .found(let count): byteCount = count
    case .failed(let reason): failure = reason
    case nil: break
    }
    byteCount = try f.optional("byte_count", byteCount)
    failure = try f.optional("failure", failure)
    switch (byteCount, failure) {
    case (let byteCount?, nil): self = .found(byteCount: byteCount)
    case (nil, let failure?): self = .failed(failure)
    default: throw f.invalid("neither a list nor a failure")
    }
  }
}
