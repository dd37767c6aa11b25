import ImgModel

// Lines of lists and requests for single thumbnails have code of their own.

extension ClientMessage {
  package func write(to json: inout JSONWriter) throws -> Bool {
    switch self {
    case .submitLines(let lines): lines.write(to: &json, kind: .submitLines)
    case .get(let request): try request.write(to: &json, kind: .get)
    default: return false
    }
    return true
  }

  package static func read(
    _ json: inout JSONReader
  ) throws(JSONReader.NotCanonical) -> ClientMessage {
    try json.object { json throws(JSONReader.NotCanonical) in
      try json.member("id")
      let id = RequestID(rawValue: try json.number())
      if json.hasMember("lines") { return .submitLines(try SubmissionLines.read(&json, id: id)) }
      return .get(try GetRequest.read(&json, id: id))
    }
  }
}

extension SubmissionLines {
  fileprivate func write(to json: inout JSONWriter, kind: ClientMessage.Kind) {
    json.object { json in
      json.member("id")
      json.number(id.rawValue)
      json.member("lines")
      json.array(lines) { json, line in json.string(line) }
      json.member("type")
      json.string(kind.rawValue)
    }
  }

  /// Reads the rest of the message, from the value of its second member on.
  fileprivate static func read(
    _ json: inout JSONReader, id: RequestID
  ) throws(JSONReader.NotCanonical) -> SubmissionLines {
    let lines = try json.array { json throws(JSONReader.NotCanonical) in try json.string() }
    try json.member("type")
    try json.literal(ClientMessage.Kind.submitLines.rawValue)
    return SubmissionLines(id: id, lines: lines)
  }
}

extension GetRequest {
  fileprivate func write(to json: inout JSONWriter, kind: ClientMessage.Kind) throws {
    try json.object { json in
      json.member("id")
      json.number(id.rawValue)
      json.member("incremental")
      json.bool(wantsPreviews)
      json.milliseconds("max_retry_after_ms", maximumRetryAfter)
      json.member("no_cache")
      json.bool(bypassesStore)
      json.member("options")
      try json.options(options)
      json.member("progress")
      json.bool(wantsProgress)
      json.member("type")
      json.string(kind.rawValue)
      json.member("url")
      json.string(url)
      if let viewer {
        json.member("viewer")
        json.string(viewer)
      }
    }
  }

  /// Reads the rest of the message, from its second member on.
  fileprivate static func read(
    _ json: inout JSONReader, id: RequestID
  ) throws(JSONReader.NotCanonical) -> GetRequest {
    try json.member("incremental")
    let wantsPreviews = try json.bool()
    let maximumRetryAfter = try json.milliseconds("max_retry_after_ms")
    try json.member("no_cache")
    let bypassesStore = try json.bool()
    try json.member("options")
    let options = try json.options()
    try json.member("progress")
    let wantsProgress = try json.bool()
    try json.member("type")
    try json.literal(ClientMessage.Kind.get.rawValue)
    try json.member("url")
    let url = try json.string()
    let viewer = json.hasMember("viewer") ? try json.string() : nil
    return GetRequest(
      id: id, url: url, viewer: viewer, options: options, bypassesStore: bypassesStore,
      wantsPreviews: wantsPreviews, wantsProgress: wantsProgress,
      maximumRetryAfter: maximumRetryAfter)
  }
}
