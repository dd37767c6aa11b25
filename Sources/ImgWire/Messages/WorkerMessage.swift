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

// The answers to look-ups and the ends of leases have code of their own.

extension WorkerMessage {
  package func write(to json: inout JSONWriter) throws -> Bool {
    switch self {
    case .lookedUp(let results): results.write(to: &json, kind: .lookedUp)
    case .transferred(let list): list.write(to: &json, kind: .transferred)
    case .released(let list): list.write(to: &json, kind: .released)
    case .finished(let results): try results.write(to: &json, kind: .finished)
    default: return false
    }
    return true
  }

  package static func read(
    _ json: inout JSONReader
  ) throws(JSONReader.NotCanonical) -> WorkerMessage {
    try json.object { json throws(JSONReader.NotCanonical) in
      if json.hasMember("decode_queue") { return .finished(try FetchResults.read(&json)) }
      if json.hasMember("hits") { return .lookedUp(try LookupResults.read(&json)) }
      try json.member("leases")
      let list = LeaseList(leases: try json.array(LeaseID.read))
      try json.member("type")
      switch try json.text(Kind.self) {
      case .transferred: return .transferred(list)
      case .released: return .released(list)
      default: throw JSONReader.NotCanonical()
      }
    }
  }
}

extension LeaseID {
  fileprivate static func read(
    _ json: inout JSONReader
  ) throws(JSONReader.NotCanonical) -> LeaseID {
    LeaseID(rawValue: try json.number())
  }
}

extension JSONWriter {
  fileprivate mutating func leases(_ name: String, _ leases: [LeaseID]) {
    member(name)
    array(leases) { json, lease in json.number(lease.rawValue) }
  }
}

extension LeaseList {
  fileprivate func write(to json: inout JSONWriter, kind: WorkerMessage.Kind) {
    json.object { json in
      json.leases("leases", leases)
      json.member("type")
      json.string(kind.rawValue)
    }
  }
}

extension LookupResults {
  fileprivate func write(to json: inout JSONWriter, kind: WorkerMessage.Kind) {
    json.object { json in
      json.member("hits")
      json.array(hits) { json, hit in hit.write(to: &json) }
      json.leases("misses", misses)
      json.leases("originals", originals)
      json.leases("stale", stale)
      json.member("type")
      json.string(kind.rawValue)
    }
  }

  /// Reads the rest of the message, from the value of its first member on.
  fileprivate static func read(
    _ json: inout JSONReader
  ) throws(JSONReader.NotCanonical) -> LookupResults {
    let hits = try json.array(Hit.read)
    try json.member("misses")
    let misses = try json.array(LeaseID.read)
    try json.member("originals")
    let originals = try json.array(LeaseID.read)
    try json.member("stale")
    let stale = try json.array(LeaseID.read)
    try json.member("type")
    try json.literal(WorkerMessage.Kind.lookedUp.rawValue)
    return LookupResults(hits: hits, stale: stale, originals: originals, misses: misses)
  }
}

extension LookupResults.Hit {
  fileprivate func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("lease")
      json.number(lease.rawValue)
      json.member("thumbnail")
      thumbnail.write(to: &json)
    }
  }

  fileprivate static func read(
    _ json: inout JSONReader
  ) throws(JSONReader.NotCanonical) -> LookupResults.Hit {
    try json.object { json throws(JSONReader.NotCanonical) in
      try json.member("lease")
      let lease = LeaseID(rawValue: try json.number())
      try json.member("thumbnail")
      return LookupResults.Hit(lease: lease, thumbnail: try Thumbnail.read(&json))
    }
  }
}

extension FetchResults {
  fileprivate func write(to json: inout JSONWriter, kind: WorkerMessage.Kind) throws {
    try json.object { json in
      json.member("decode_queue")
      json.number(decodeQueueCount)
      json.member("results")
      try json.array(results) { json, result in try result.write(to: &json) }
      json.member("type")
      json.string(kind.rawValue)
    }
  }

  /// Reads the rest of the message, from the value of its first member on.
  fileprivate static func read(
    _ json: inout JSONReader
  ) throws(JSONReader.NotCanonical) -> FetchResults {
    let decodeQueueCount: Int = try json.number()
    try json.member("results")
    let results = try json.array(Result.read)
    try json.member("type")
    try json.literal(WorkerMessage.Kind.finished.rawValue)
    return FetchResults(results: results, decodeQueueCount: decodeQueueCount)
  }
}

extension FetchResults.Result {
  fileprivate func write(to json: inout JSONWriter) throws {
    try json.object { json in
      if let failureBehind {
        json.member("failure_behind")
        try json.encoded(failureBehind)
      }
      json.member("lease")
      json.number(lease.rawValue)
      json.member("outcome")
      try outcome.write(to: &json)
      json.member("redirected")
      json.bool(wasRedirected)
      if let timings {
        json.member("timings")
        timings.write(to: &json)
      }
    }
  }

  fileprivate static func read(
    _ json: inout JSONReader
  ) throws(JSONReader.NotCanonical) -> FetchResults.Result {
    try json.object { json throws(JSONReader.NotCanonical) in
      let failureBehind: Failure? =
        json.hasMember("failure_behind") ? try json.decoded() : nil
      try json.member("lease")
      let lease = LeaseID(rawValue: try json.number())
      try json.member("outcome")
      let outcome = try Outcome.read(&json)
      try json.member("redirected")
      let wasRedirected = try json.bool()
      return FetchResults.Result(
        lease: lease, outcome: outcome, wasRedirected: wasRedirected,
        timings: json.hasMember("timings") ? try Timings.read(&json) : nil,
        failureBehind: failureBehind)
    }
  }
}
