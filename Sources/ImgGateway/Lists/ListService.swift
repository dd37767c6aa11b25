import ImgClient
import ImgFacts
import ImgHTTP
import ImgModel

/// Answers requests for lists and for the pictures in them.
struct ListService: Sendable {
  let lists: PictureLists
  let pictures: PictureService
  let sides: SideLimit
  /// The origins that pictures may come from.
  let origins: OriginList
  /// Reads the metadata of files; `nil` for a transport that is no cluster.
  let cluster: ClusterTransport?

  /// `/v2/list`
  func list(_ target: RequestTarget) throws(RequestRejection) -> HTTPAnswer {
    let query = try ListQuery(target.parameters())
    return .laterOrFailure(within: pictures.timeout) { () throws(ImageError) in
      let page = try await lists.page(query, now: .now)
      var response = HTTPResponse.json(page.entries)
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
        guard let info = try await lists.info(of: id, now: .now) else { return .noPicture }
        return hasMetadata ? try await details(of: info) : .json(info)
      }
    case .picture(let query):
      if let size = query.size { try sides.require(max(size.width, size.height)) }
      return .laterOrFailure(within: pictures.timeout) { () throws(ImageError) in
        try await picture(query, request)
      }
    }
  }

  /// The facts of a picture with its metadata, whose fetch is a load.
  private func details(of info: PictureInfo) async throws(ImageError) -> HTTPResponse {
    // A transport without a cluster has no files to read.
    guard let cluster else { return .json(PictureDetails(info: info, exif: nil)) }
    let url = info.entry.url
    let facts = try await pictures.loads.load(of: url) { () async throws(ImageError) in
      try await cluster.facts(
        of: url, maximumRetryAfter: PictureService.maximumRetryAfter,
        redirectOrigins: origins.redirectOrigins(ofListed: url))
    }
    guard let facts else { return FailureReport(.tooManyLoads).response() }
    return .json(PictureDetails(info: info, exif: facts.exif))
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
    guard var wanted = try await lists.request(for: query) else { return .noPicture }
    wanted.redirectOrigins = origins.redirectOrigins(ofListed: wanted.url)
    var asked = ImageQuery(wanted, service: .picsum(id: "\(query.id)"))
    asked.format = .fixed
    // Picsum's name of the file has the size.
    asked.fileName = query.size.map { "\(query.id)-\($0.width)x\($0.height)" }
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
