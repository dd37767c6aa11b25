import ImgModel

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
