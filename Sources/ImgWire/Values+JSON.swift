import ImgModel

// The values of the messages that are sent often, as their `Codable` writes and reads them. Members
// are in the order of their names' bytes.

extension Thumbnail {
  func write(to json: inout JSONWriter) {
    json.object { json in
      json.member("bytes")
      json.number(byteCount)
      if isDamaged {
        json.member("damaged")
        json.bool(true)
      }
      json.member("format")
      json.string(format.rawValue)
      json.member("height")
      json.number(height)
      json.member("width")
      json.number(width)
    }
  }

  static func read(_ json: inout JSONReader) throws(JSONReader.NotCanonical) -> Thumbnail {
    try json.object { json throws(JSONReader.NotCanonical) in
      try json.member("bytes")
      let byteCount: Int = try json.number()
      let isDamaged = json.hasMember("damaged") ? try json.bool() : false
      try json.member("format")
      let format: ImageFormat = try json.text()
      try json.member("height")
      let height: Int = try json.number()
      try json.member("width")
      return Thumbnail(
        format: format, width: try json.number(), height: height, byteCount: byteCount,
        isDamaged: isDamaged)
    }
  }
}

extension Outcome {
  func write(to json: inout JSONWriter) throws {
    try json.object { json in
      switch self {
      case .done(let thumbnail, let isFromCache, let byteCount):
        json.member("bytes_fetched")
        json.number(byteCount)
        json.member("from_cache")
        json.bool(isFromCache)
        json.member("outcome")
        json.string("done")
        json.member("thumbnail")
        thumbnail.write(to: &json)
      case .failed(let failure, let byteCount):
        // Most failures have no body.
        if byteCount > 0 {
          json.member("bytes_fetched")
          json.number(byteCount)
        }
        json.member("failure")
        try json.encoded(failure)
        json.member("outcome")
        json.string("failed")
      case .cancelled:
        json.member("outcome")
        json.string("cancelled")
      }
    }
  }

  static func read(_ json: inout JSONReader) throws(JSONReader.NotCanonical) -> Outcome {
    try json.object { json throws(JSONReader.NotCanonical) in
      let byteCount: Int? = json.hasMember("bytes_fetched") ? try json.number() : nil
      if json.hasMember("failure") {
        let failure: Failure = try json.decoded()
        try json.member("outcome")
        try json.literal("failed")
        return .failed(failure, bytesFetched: byteCount ?? 0)
      }
      guard let byteCount else {
        try json.member("outcome")
        try json.literal("cancelled")
        return .cancelled
      }
      try json.member("from_cache")
      let isFromCache = try json.bool()
      try json.member("outcome")
      try json.literal("done")
      try json.member("thumbnail")
      return .done(
        try Thumbnail.read(&json), fromCache: isFromCache, bytesFetched: byteCount)
    }
  }
}

extension Timings {
  func write(to json: inout JSONWriter) {
    json.object { json in
      json.milliseconds("connect", connect)
      json.milliseconds("decode", decode)
      json.milliseconds("dns", dns)
      json.milliseconds("download", download)
      json.milliseconds("store", store)
      json.milliseconds("tls", tls)
      json.milliseconds("ttfb", ttfb)
    }
  }

  static func read(_ json: inout JSONReader) throws(JSONReader.NotCanonical) -> Timings {
    try json.object { json throws(JSONReader.NotCanonical) in
      var timings = Timings()
      timings.connect = try json.milliseconds("connect")
      timings.decode = try json.milliseconds("decode")
      timings.dns = try json.milliseconds("dns")
      timings.download = try json.milliseconds("download")
      timings.store = try json.milliseconds("store")
      timings.tls = try json.milliseconds("tls")
      timings.ttfb = try json.milliseconds("ttfb")
      return timings
    }
  }
}
