/// An object of the gateway's lists, for a picture that is made up.
struct CannedPicture: Encodable, Sendable {
  let id: String
  var author = "example.org"
  var width = 120
  var height = 90
  var url: String
  /// That of some photograph.
  var thumbHash: String? = "TvgFDYIOYodmh4pBm2hnfC90BBfq"
  var state = "done"
  var code: String?
  var message: String?
  var retryable: Bool?
  var type: String? = "image/svg+xml"
  var byteCount = 1234
  var fromCache = true
  var storedAt: String? = "2026-11-28T06:24:51.760Z"
  var expiresAt: String?
  var source: CannedSource?

  enum CodingKeys: String, CodingKey {
    case id, author, width, height, url
    case thumbHash = "thumb_hash"
    case state, code, message, retryable, type
    case byteCount = "byte_count"
    case fromCache = "from_cache"
    case storedAt = "stored_at"
    case expiresAt = "expires_at"
    case source
  }

  /// A picture of a place in a list. Each has a width of its own, so a test can tell it from the others.
  init(_ prefix: String = "store", index: Int) {
    id = "\(prefix)-\(index)"
    url = "https://example.org/\(prefix)/\(index).jpg"
    width += index
  }

  /// A failure of a place in a list.
  static func failed(
    _ prefix: String, index: Int, code: String, message: String
  ) -> CannedPicture {
    var picture = CannedPicture(prefix, index: index)
    picture.state = "failed"
    picture.code = code
    picture.message = message
    picture.retryable = true
    (picture.width, picture.height, picture.byteCount) = (0, 0, 0)
    (picture.thumbHash, picture.type, picture.storedAt) = (nil, nil, nil)
    return picture
  }

  /// The picture as a file: an empty drawing of its size.
  var file: String { Self.file(width: width, height: height) }

  static func file(width: Int, height: Int) -> String {
    "<svg xmlns='http://www.w3.org/2000/svg' width='\(width)' height='\(height)'>"
      + "<rect width='100%' height='100%' fill='teal'/></svg>"
  }
}

/// The source of a picture that is made up.
struct CannedSource: Encodable, Sendable {
  let type = "image/jpeg"
  let width: Int
  let height: Int
}

/// A job of the gateway that is made up.
struct CannedJob: Encodable, Sendable {
  var job = 1
  var name: String?
  var state = "running"
  var total = 100
  var done = 0
  var failed = 0
  var retryable = 0
  var cancelled = 0
  var queued = 100
  var running = 0
  var fromCache = 0

  enum CodingKeys: String, CodingKey {
    case job, name, state, total, done, failed, retryable, cancelled, queued, running
    case fromCache = "from_cache"
  }
}
