import ImgModel

// The result of a request for one thumbnail has code of its own, unless a file comes with it.

extension CoordinatorReply {
  package func write(to json: inout JSONWriter) throws -> Bool {
    guard case .got(let got) = self, got.uncached == nil else { return false }
    try json.object { json in
      json.member("id")
      json.number(got.id.rawValue)
      json.member("outcome")
      try got.outcome.write(to: &json)
      if let timings = got.timings {
        json.member("timings")
        timings.write(to: &json)
      }
      json.member("type")
      json.string(Kind.got.rawValue)
    }
    return true
  }

  package static func read(
    _ json: inout JSONReader
  ) throws(JSONReader.NotCanonical) -> CoordinatorReply {
    try json.object { json throws(JSONReader.NotCanonical) in
      try json.member("id")
      let id = RequestID(rawValue: try json.number())
      try json.member("outcome")
      let outcome = try Outcome.read(&json)
      let timings = json.hasMember("timings") ? try Timings.read(&json) : nil
      try json.member("type")
      try json.literal(Kind.got.rawValue)
      return .got(GotReply(id: id, outcome: outcome, timings: timings))
    }
  }
}
