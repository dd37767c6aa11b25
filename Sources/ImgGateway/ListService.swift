import FoundationEssentials
package import ImgClient
import ImgFacts
import ImgHTTP
package import ImgModel

/// Answers requests for lists and for the pictures in them.
struct ListService: Sendable {
  let lists: PictureLists
  let random: RandomPictures
  let pictures: PictureService
  let sides: SideLimit
  /// The origins that pictures may come from.
  let origins: OriginList
  /// Reads the metadata of files; `nil` for a transport that is no cluster.
  let cluster: ClusterTransport?

  /// `/v2/list`
  ///
  /// - Parameter address: under which the client reaches the gateway.
  func list(
    _ target: RequestTarget, at address: PublicAddress
  ) throws(RequestRejection) -> HTTPAnswer {
    let query = try ListQuery(target.parameters())
    return .laterOrFailure(within: pictures.timeout) { () throws(ImageError) in
      let page = try await lists.page(query, now: .now)
      var response = HTTPResponse.json(page.entries.map { $0.at(address) })
      if let link = page.link { response.fields.add("Link", link) }
      return response
    }
  }

  /// `/id/…`
  func picture(
    _ request: HTTPRequest, _ target: RequestTarget
  ) throws(RequestRejection) -> HTTPAnswer {
    switch try PicsumPath(target) {
    case .info(let id, let hasMetadata):
      return .laterOrFailure(within: pictures.timeout) { () throws(ImageError) in
        guard var info = try await lists.info(of: id, now: .now) else { return .noPicture }
        info.entry.address = PublicAddress(of: request)
        return hasMetadata ? try await details(of: info) : .json(info)
      }
    case .events(let query):
      try requireSides(of: query)
      return .laterOrFailure(within: pictures.timeout) { () throws(ImageError) in
        try await events(of: query, target, at: PublicAddress(of: request))
      }
    case .picture(let query):
      try requireSides(of: query)
      return .laterOrFailure(within: pictures.timeout) { () throws(ImageError) in
        try await picture(query, request)
      }
    }
  }

  /// `/seed/…`, `/300/200`: leads to a picture of the store, in the size that is asked for.
  ///
  /// - Throws: as the path of that picture does.
  func random(_ path: RandomPath) throws(RequestRejection) -> HTTPAnswer {
    // Any picture tells whether the rest of the path is right.
    _ = try PicsumPath(RequestTarget(path.target(of: .line(job: 1, index: 0))))
    return .laterOrFailure(within: pictures.timeout) { () throws(ImageError) in
      let seed = path.seed ?? "\(UInt64.random(in: 0...UInt64.max))"
      guard let id = try await random.picture(for: seed, now: .now) else { return .noPicture }
      return .redirect(to: path.target(of: .record(id)))
    }
  }

  private func requireSides(of query: PictureQuery) throws(RequestRejection) {
    if let size = query.size { try sides.require(max(size.width, size.height)) }
  }

  /// - Parameter target: that of the picture, with `/events` at the end of its path.
  private func events(
    of query: PictureQuery, _ target: RequestTarget, at address: PublicAddress
  ) async throws(ImageError) -> HTTPResponse {
    guard let wanted = try await wanted(by: query) else { return .noPicture }
    let path = target.path.split(separator: "/").dropLast().joined(separator: "/")
    let picture = "/\(path)\(target.query.map { "?\($0)" } ?? "")"
    return pictures.events(of: wanted, at: address.url(ofPath: picture))
  }

  /// - Returns: `nil` if there is no such picture.
  private func wanted(by query: PictureQuery) async throws(ImageError) -> ImageRequest? {
    guard var wanted = try await lists.request(for: query) else { return nil }
    wanted.redirectOrigins = origins.redirectOrigins(ofListed: wanted.url)
    return wanted
  }

  /// The facts of a picture with its metadata, whose fetch is a load.
  private func details(of info: PictureInfo) async throws(ImageError) -> HTTPResponse {
    // A transport without a cluster has no files to read.
    guard let cluster else { return .json(info.json(with: nil)) }
    let url = info.entry.url
    var request = ImageRequest(url: url)
    request.maximumRetryAfter = PictureService.maximumRetryAfter
    request.redirectOrigins = origins.redirectOrigins(ofListed: url)
    let facts = try await pictures.loads.load(of: url) { [request] () async throws(ImageError) in
      try await cluster.facts(of: request)
    }
    guard let facts else { return FailureReport(.tooManyLoads).response() }
    return .json(info.json(with: facts.exif))
  }

  /// The wait of a request. The list knows the ThumbHash of a picture in whatever variant it has it.
  private func wait(of query: PictureQuery) async throws(ImageError) -> PictureWait? {
    guard let wait = query.wait, wait.substitute == .thumbHash,
      let hash = try await lists.info(of: query.id, now: .now)?.entry.thumbHash
    else { return query.wait }
    return PictureWait(wait.limit, then: .placeholder(.thumbHash(hash.bytes)))
  }

  private func picture(
    _ query: PictureQuery, _ request: HTTPRequest
  ) async throws(ImageError) -> HTTPResponse {
    if case .record(let id) = query.id, query.isAsListed {
      guard let image = try await lists.storedImage(of: id) else { return .noPicture }
      var stored = ImageQuery("", service: .picsum(id: "\(query.id)"))
      stored.format = .fixed
      return try await pictures.response(to: request, for: stored, with: image)
    }
    guard let wanted = try await wanted(by: query) else { return .noPicture }
    var asked = ImageQuery(wanted, service: .picsum(id: "\(query.id)"))
    asked.format = .fixed
    // Picsum's name of the file has the size.
    asked.fileName = query.size.map { "\(query.id)-\($0.width)x\($0.height)" }
    if let size = query.size { (asked.box.width, asked.box.height) = (size.width, size.height) }
    asked.wait = try await wait(of: query)
    asked.request.timeout = query.timeout
    let response = await pictures.response(to: request, for: asked)
    // What was cancelled, maybe because its time is over, has a failure as its response.
    guard !Task.isCancelled else {
      throw ImageError(code: .cancelled, url: wanted.url, message: "the request was cancelled")
    }
    if case .line = query.id { return response.revalidated }
    return response
  }
}

extension HTTPResponse {
  /// Leads elsewhere for now, as Picsum does with 302 (RFC 9110, section 15.4.3).
  fileprivate static func redirect(to target: String) -> HTTPResponse {
    HTTPResponse(
      HTTPStatus(rawValue: 302), fields: ["Location": target, "Cache-Control": "no-store"])
  }

  /// The same picture, which a client may keep if it asks each time whether it is still the one.
  ///
  /// Another data directory has other jobs with the same numbers, maybe later at the same address.
  fileprivate var revalidated: HTTPResponse {
    guard fields["Expires"] != nil else { return self }
    var response = self
    for name in ["Cache-Control", "Expires", "Age"] { response.fields.remove(name) }
    response.fields.add("Cache-Control", "private, no-cache")
    return response
  }

  fileprivate static var noPicture: HTTPResponse {
    FailureReport(.notFound("there is no such picture, or it is no longer stored")).response()
  }
}

/// The facts of a picture in a list. In JSON it has the keys of a ``ListEntry``, and `source` and `origin`.
package struct PictureInfo: Hashable, Sendable, Encodable {
  package fileprivate(set) var entry: ListEntry
  /// The picture that the thumbnail was made from; `nil` if that is not known.
  package let source: SourcePicture?

  init(_ entry: ListEntry, source: SourcePicture?) {
    self.entry = entry
    self.source = source
  }

  /// The scheme, the host and the port of the URL; `nil` for a local picture and for no URL.
  package var origin: String? {
    // A line that is no URL has failed, and its error says so.
    guard let url = try? ImageURL(line: entry.url), !url.isLocal else { return nil }
    return url.origin
  }

  /// - Parameter exif: the EXIF tags of the file, by directory; `nil` if it has none.
  func json(with exif: EXIFFacts?) -> JSONObject {
    JSONObject(["exif": exif], writesNull: true, beside: self)
  }

  package func encode(to encoder: any Encoder) throws {
    let source = source.map { source in
      JSONObject([
        "type": source.format.mediaType, "width": source.width, "height": source.height,
        "byte_count": source.byteCount,
      ])
    }
    try JSONObject(["origin": origin, "source": source], writesNull: true, beside: entry)
      .encode(to: encoder)
  }
}

/// A picture in a list: a line of a job, or a thumbnail of the store. In JSON it has the keys of Picsum, and
/// more.
package struct ListEntry: Hashable, Sendable, Encodable {
  /// How far the thumbnail is.
  package enum State: String, Hashable, Sendable, Encodable {
    case done, failed, cancelled, waiting

    fileprivate var phase: LoadPhase {
      switch self {
      case .waiting: .empty
      case .done: .success
      case .failed, .cancelled: .failure
      }
    }
  }

  package let id: PictureID
  /// As the list has it; a line may be no URL.
  package let url: String
  package let state: State
  /// Only of a picture that is done.
  package var thumbnail: Thumbnail?
  /// Whether the store had it when the job asked for it. A record of the store is from there.
  package var isFromCache: Bool?
  /// Only of a picture that has failed.
  package var error: ImageError?
  package var thumbHash: ThumbHash?
  /// The picture that the thumbnail was made from; `nil` if that is not known any more.
  package var source: SourcePicture?
  package var storedAt: WallTime?
  package var expiresAt: WallTime?
  /// The server in the links to the picture.
  var address = PublicAddress.none

  init(_ id: PictureID, url: String, state: State) {
    self.id = id
    self.url = url
    self.state = state
  }

  /// The host of the URL, in the place of the photographer; empty for a local picture and for no URL.
  package var author: String {
    // A line that is no URL has failed, and its error says so.
    guard let url = try? ImageURL(line: url), !url.isLocal else { return "" }
    return url.host
  }

  /// The same entry, for clients that reach the server at an address.
  func at(_ address: PublicAddress) -> ListEntry {
    var entry = self
    entry.address = address
    return entry
  }

  /// Why there is no picture and none will come; also of a line that was cancelled.
  private var failure: ImageError? {
    guard state == .cancelled else { return error }
    return ImageError(
      code: .cancelled, url: url, message: "the job was cancelled before the picture was there")
  }

  /// Writes all keys; what is not known is `null`, except for sides, which are 0.
  package func encode(to encoder: any Encoder) throws {
    let link = address.url(of: id)
    try JSONObject(
      [
        "id": id.description, "author": author,
        "width": source?.width ?? thumbnail?.width ?? 0,
        "height": source?.height ?? thumbnail?.height ?? 0,
        "thumbnail_width": thumbnail?.width ?? 0, "thumbnail_height": thumbnail?.height ?? 0,
        "url": url.withoutPasswords, "download_url": link,
        "phase": state.phase, "is_loading": state.phase.isLoading,
        "image": state == .done ? link : nil,
        "error": failure.map { FailureReport(ofListed: $0).details },
        "thumb_hash": thumbHash, "state": state, "code": error?.code.rawValue,
        "message": error?.message.withoutPasswords, "retryable": error?.isRetryable,
        "http_status": error?.httpStatus, "type": thumbnail?.format.mediaType,
        "byte_count": thumbnail?.byteCount, "from_cache": isFromCache, "stored_at": storedAt,
        "expires_at": expiresAt,
      ], writesNull: true
    ).encode(to: encoder)
  }
}

extension ListEntry {
  /// A line of a job.
  init(_ result: ImageJobResult, of job: ImageJob.ID) {
    let state: State =
      switch result.outcome {
      case .done: .done
      case .failed: .failed
      case .cancelled: .cancelled
      case nil: .waiting
      }
    self.init(.line(job: job, index: result.index), url: result.url, state: state)
    error = result.error
    guard case .done(let thumbnail, let isFromCache) = result.outcome else { return }
    self.thumbnail = thumbnail
    self.isFromCache = isFromCache
  }

  /// A thumbnail of the store.
  init(_ record: CacheRecord) {
    self.init(.record(record.id), url: record.url, state: .done)
    thumbnail = record.thumbnail
    isFromCache = true
    source = record.source
    thumbHash = record.source.thumbHash
    storedAt = record.storageTime
    expiresAt = record.expiryTime
  }
}

/// A page of a list.
package struct ListPage: Hashable, Sendable {
  package let entries: [ListEntry]
  /// The value of the field `Link` (RFC 8288): the pages before and after this one; `nil` without any.
  package let link: String?

  /// - Parameter links: `nil` where there is no such page.
  init(_ entries: [ListEntry], previous: ListQuery?, next: ListQuery?) {
    self.entries = entries
    let links = [(previous, "prev"), (next, "next")].compactMap { query, relation in
      query.map { "<\($0.target)>; rel=\"\(relation)\"" }
    }
    link = links.isEmpty ? nil : links.joined(separator: ", ")
  }
}

/// The request that has the thumbnail of a line of a job.
package struct JobLineRequest: Hashable, Sendable {
  /// `nil` for a job whose thumbnails no request of this server has.
  package let variant: ImageVariant?
  private let acceptsDamage: Bool

  /// - Parameter job: one that names its pictures otherwise than by their URLs, or adds header fields, whose
  ///   values are secret, has pictures that no other request finds.
  package init(_ job: ImageJob) {
    let isNamedByURL =
      job.request.fetch.headers.isEmpty && job.request.fetch.cacheKey == nil
      && job.request.fetch.ignoredQuery == .none
    // A request cannot decide about embedded previews.
    let isRequestable = isNamedByURL && job.request.variant.embeddedUse == .auto
    variant = isRequestable ? job.request.variant.value : nil
    acceptsDamage = job.request.isLenient
  }

  /// - Parameter url: of the line.
  /// - Returns: `nil` without a ``variant``.
  package func request(of url: String) -> ImageRequest? {
    variant.map { variant in
      var request = ImageRequest(url: url, variant: variant)
      request.acceptsDamage = acceptsDamage
      return request
    }
  }
}
