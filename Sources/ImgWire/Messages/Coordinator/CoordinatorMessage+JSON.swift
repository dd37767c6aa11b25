import ImgModel

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
