import ImgClient
package import ImgHTTP
import ImgModel
package import ImgSettings
import Synchronization

/// Answers the requests of the gateway: finds the route of each, and records how long its answer took.
package final class Gateway: HTTPHandler {
  private let hosts: HostGuard
  private let servesGallery: Bool
  private let servesOtherSites: Bool
  private let queries: ImageQueries
  private let pictures: PictureService
  private let lists: ListService
  private let jobs: JobService
  private let page = GalleryPage()
  private let measurements: Measurements
  private let note: @Sendable (String) -> Void
  private let hasNotedHost = Atomic(false)

  /// - Parameters:
  ///   - isLocal: whether only this machine can connect.
  ///   - note: takes a line for the log.
  /// - Throws: ``UsageError`` for keys, presets and patterns of origins that make no sense.
  package convenience init(
    _ transport: any PictureLists.Transport, settings: GatewaySettings, isLocal: Bool,
    note: @escaping @Sendable (String) -> Void = { _ in }
  ) throws(UsageError) {
    let queries = try ImageQueries(settings, note: note)
    self.init(transport, settings: settings, queries: queries, isLocal: isLocal, note: note)
  }

  /// The same for a caller that has read the settings of queries, which may be wrong.
  ///
  /// - Parameter queries: those of the settings.
  init(
    _ transport: any PictureLists.Transport, settings: GatewaySettings, queries: ImageQueries,
    isLocal: Bool, note: @escaping @Sendable (String) -> Void
  ) {
    self.note = note
    self.queries = queries
    // Without a memory of its own, which would hide changes of the store.
    let client = ImageClient(transport: transport, memoryCache: nil)
    servesGallery = settings.servesGallery(isLocal: isLocal)
    servesOtherSites = settings.servesOtherSites(isLocal: isLocal)
    hosts = HostGuard(names: settings.hosts, isLocal: isLocal, hasGallery: servesGallery)
    pictures = PictureService(
      client, maximumLoads: settings.maximumLoads, timeout: settings.requestTimeout)
    let cluster = transport as? ClusterTransport
    let pictureLists = PictureLists(transport)
    jobs = JobService(client: client, lists: pictureLists, timeout: settings.requestTimeout)
    lists = ListService(
      lists: pictureLists, random: RandomPictures(pictureLists), pictures: pictures,
      sides: queries.sides,
      origins: queries.origins, cluster: cluster)
    measurements = Measurements(
      of: pictures, probe: ClusterProbe(transport: cluster),
      showsReasons: isLocal && servesGallery)
  }

  /// Counts what a server does from now on.
  package func measure(_ server: HTTPServer) {
    measurements.measure(server)
  }

  package func answer(to request: HTTPRequest) -> HTTPAnswer {
    let route = Route(target: request.target)
    var answer = answer(to: request, at: route)
    if route?.leadsToPicture == true { answer = answer.withPhase }
    if route?.belongsToGallery == true { return answer.forOwnPages }
    return route == .image && servesOtherSites ? answer.forAllPages : answer
  }

  /// The answer, or the refusal in its place.
  private func answer(to request: HTTPRequest, at route: Route?) -> HTTPAnswer {
    do throws(RequestRejection) {
      try hosts.check(request)
      guard let route else { throw .nothingThere }
      guard servesGallery || !route.belongsToGallery else { throw .noGallery }
      if route.hasPictures, request.method == .other("OPTIONS") {
        return .response(.preflight(isShared: route == .image && servesOtherSites))
      }
      guard route.allows(request.method) else { throw .wrongMethod(route) }
      try PageGuard.check(request, to: route, servesOtherSites: servesOtherSites)
      return try answer(to: request, by: route)
    } catch {
      if error.code == HostGuard.unknownHostCode { noteHost(of: request) }
      return .response(refusal(error, on: route))
    }
  }

  /// The log has the first name alone, because any client can send any number of them.
  private func noteHost(of request: HTTPRequest) {
    guard !hasNotedHost.exchange(true, ordering: .relaxed) else { return }
    note(
      "refused a request for the host \(Spelling.quoted(request.fields["Host"] ?? "")); give --host NAME "
        + "to answer to a name. Further such requests are not logged")
  }

  package func record(
    _ status: HTTPStatus, to request: HTTPRequest?, after duration: Duration
  ) {
    let route = request.flatMap { Route(target: $0.target) }
    measurements.record(route?.name ?? .unknown, status, after: duration)
  }

  private func refusal(_ error: RequestRejection, on route: Route?) -> HTTPResponse {
    var response = FailureReport(error).response()
    if error.status == .methodNotAllowed, let route {
      response.fields.add("Allow", route.allowedMethods)
    }
    return response
  }

  private func answer(
    to request: HTTPRequest, by route: Route
  ) throws(RequestRejection) -> HTTPAnswer {
    switch route {
    case .image:
      return try pictures.answer(to: request) { () throws(RequestRejection) in
        var query = try queries.weserv(RequestTarget(request.target))
        query.isShared = servesOtherSites
        return query
      }
    case .optionsPath:
      return try pictures.answer(to: request) { () throws(RequestRejection) in
        try queries.imgproxy(RequestTarget(request.target), now: .now)
      }
    case .list: return try lists.list(RequestTarget(request.target), at: PublicAddress(of: request))
    case .picture: return try lists.picture(request, RequestTarget(request.target))
    case .random(let path): return try lists.random(path)
    case .jobs: return jobs.list()
    case .job(let id): return jobs.job(id, at: PublicAddress(of: request))
    case .retry(let id): return jobs.retry(id)
    case .events(let id): return jobs.events(id)
    case .gallery:
      guard let response = page.response(to: request) else { throw .nothingThere }
      return .response(response)
    case .photo(let id): return .response(page.redirect(to: id))
    case .health: return .response(.text("alive\n"))
    case .ready: return measurements.readiness()
    case .metrics: return measurements.text()
    }
  }
}

extension RequestRejection {
  fileprivate static let nothingThere = notFound("the gateway has nothing at this path")
  fileprivate static let noGallery = notFound(
    "the gateway has no gallery: with --key-file, and for other machines, it needs --gallery yes")

  fileprivate static func wrongMethod(_ route: Route) -> RequestRejection {
    RequestRejection(
      .methodNotAllowed, code: "method_not_allowed", "use \(route.allowedMethods)")
  }
}

extension Gateway {
  /// A failure, as for requests that the gateway refuses itself.
  package func response(to refusal: RequestRefusal) -> HTTPResponse {
    FailureReport(RequestRejection(refusal)).response()
  }
}

extension RequestRejection {
  fileprivate init(_ refusal: RequestRefusal) {
    let code =
      switch refusal.status {
      case .contentTooLarge: "unexpected_body"
      case .uriTooLong: "too_long_target"
      case .requestHeaderFieldsTooLarge: "too_large_header"
      case .serviceUnavailable: "too_many_requests"
      case .internalServerError: "internal"
      default: "malformed_request"
      }
    self.init(refusal.status, code: code, refusal.reason)
  }
}

/// Which host names a gateway answers to.
///
/// A page of another site can make a browser send requests to this machine, under a name of its own that
/// leads here (DNS rebinding). Such requests are refused where only this machine can connect: there, the name
/// in a request is one of this machine. They are refused where the gallery is, too. No foreign site has the name
/// localhost or an address as its name. ``PageGuard`` decides about pages.
struct HostGuard: Sendable {
  /// In lower case; `nil` for every name.
  private let names: Set<String>?
  /// Whether addresses count that are not of loopback.
  private let permitsAddresses: Bool

  /// - Parameters:
  ///   - names: further names. A gateway that other machines reach answers to every name if there is none and
  ///     it has no gallery.
  ///   - isLocal: whether only this machine can connect.
  init(names: [String], isLocal: Bool, hasGallery: Bool) {
    let given = Set(names.map { $0.lowercased() })
    let own: Set = ["localhost", "[::1]"]
    permitsAddresses = !isLocal
    self.names = isLocal || hasGallery || !given.isEmpty ? own.union(given) : nil
  }

  /// The code of a rejection because of the host name.
  static let unknownHostCode = "unknown_host"

  /// - Throws: ``RequestRejection`` with status 403.
  func check(_ request: HTTPRequest) throws(RequestRejection) {
    // HTTP/1.0 has no such field, and a browser always sends it.
    if let host = request.fields["Host"], !permits(host) {
      throw RequestRejection(
        .forbidden, code: Self.unknownHostCode,
        "the server does not answer to the host name of the request; use the name or the address that "
          + "it was started with")
    }
  }

  private func permits(_ host: String) -> Bool {
    guard let names else { return true }
    let name = Self.name(of: host)
    return permits(address: name.utf8) || names.contains(name.lowercased())
  }

  /// Whether a name is an address that counts. Those of 127.0.0.0/8 (RFC 6890) always do.
  private func permits(address name: Substring.UTF8View) -> Bool {
    guard permitsAddresses || name.starts(with: "127.".utf8) else { return false }
    return Self.isIPv4(name) || Self.isBracketed(name)
  }

  /// Whether a name is in brackets, as IPv6 addresses are (RFC 3986, section 3.2.2), and no host name.
  private static func isBracketed(_ name: Substring.UTF8View) -> Bool {
    name.first == UInt8(ascii: "[") && name.last == UInt8(ascii: "]")
  }

  /// Every request asks this, so it makes no copies.
  private static func isIPv4(_ name: Substring.UTF8View) -> Bool {
    var dotCount = 0
    var number: UInt16?
    for byte in name {
      if byte == UInt8(ascii: "."), number != nil {
        dotCount += 1
        number = nil
      } else if byte.isDigit {
        let next = (number ?? 0) * 10 + UInt16(byte - UInt8(ascii: "0"))
        guard next <= 255 else { return false }
        number = next
      } else {
        return false
      }
    }
    return dotCount == 3 && number != nil
  }

  /// The name in a `Host` field, without its port.
  private static func name(of host: String) -> Substring {
    guard let colon = host.utf8.lastIndex(of: UInt8(ascii: ":")),
      host.utf8[colon...].dropFirst().allSatisfy(\.isDigit)
    else { return host[...] }
    return host[..<colon]
  }
}

/// Which web pages may ask for what belongs to the gallery: those of the gateway itself. Where only this machine can
/// connect, pictures are for pages of this machine, too, unless the settings permit all.
///
/// A page of another site can make a browser send requests to this machine, and reads from an image whether
/// there is a picture. Browsers tell which site sends a request (Fetch Metadata, `Sec-Fetch-Site`). Another port
/// of the same host is another page. Programs send no such field.
enum PageGuard {
  /// - Parameter servesOtherSites: whether pages of all sites get pictures.
  /// - Throws: ``RequestRejection`` with status 403.
  static func check(
    _ request: HTTPRequest, to route: Route, servesOtherSites: Bool
  ) throws(RequestRejection) {
    guard route.belongsToGallery else {
      guard servesOtherSites || !route.hasPictures || isOfThisMachine(request) else {
        throw foreignPicture
      }
      return
    }
    let site = request.fields["Sec-Fetch-Site"]
    let isOwn = site == nil || site == "same-origin" || site == "none"
    guard request.method == .post else {
      guard isOwn || opensPage(request, at: route) else { throw foreignPage }
      return
    }
    guard isOwn, request.fields["X-Requested-With"] == "imgctl" else { throw foreignChange }
  }

  /// Whether no page sends a request, or one of the same host: what listens on another port of it can connect by
  /// itself.
  private static func isOfThisMachine(_ request: HTTPRequest) -> Bool {
    guard let site = request.fields["Sec-Fetch-Site"] else { return true }
    return ["same-origin", "same-site", "none"].contains(site)
  }

  /// Whether a link leads a person to the page of the gallery. The page that has the link reads nothing of it.
  private static func opensPage(_ request: HTTPRequest, at route: Route) -> Bool {
    let isPage = if case .photo = route { true } else { request.target.prefix { $0 != "?" } == "/" }
    return isPage && request.fields["Sec-Fetch-Mode"] == "navigate"
      && request.fields["Sec-Fetch-Dest"] == "document"
  }

  private static let foreignPicture = RequestRejection(
    .forbidden, code: "foreign_page",
    "a page of another site may not ask for pictures here; --cross-site yes permits that")

  private static let foreignPage = RequestRejection(
    .forbidden, code: "foreign_page",
    "a page of another site may not ask for this; its pictures are at /image?url=…, and a link to / or "
      + "/photo/ID opens the gallery")

  private static let foreignChange = RequestRejection(
    .forbidden, code: "foreign_page",
    "a request that changes something has the field X-Requested-With: imgctl, and no other site "
      + "may send it")
}

/// What a request is about, by its target.
enum Route: Hashable {
  /// The kinds of routes, as metrics name them.
  enum Name: String, CaseIterable {
    case image, picture, list, jobs, events, gallery, health, ready, metrics, unknown
  }

  /// `/image?url=…`
  case image
  /// `/{signature}/{options}/…`: a path of imgproxy. It may have no options.
  case optionsPath
  /// `/id/…`
  case picture
  /// `/seed/…`, `/300/200`: leads to a picture of the store
  case random(RandomPath)
  /// `/photo/…`: the picture in the gallery
  case photo(PictureID)
  /// `/v2/list`, maybe with a slash at its end
  case list
  case jobs
  case job(ImageJob.ID)
  case retry(ImageJob.ID)
  case events(ImageJob.ID)
  /// `/` and `/assets/…`
  case gallery
  case health
  case ready
  case metrics

  var name: Name {
    switch self {
    case .image, .optionsPath: .image
    case .picture, .random: .picture
    case .list: .list
    case .jobs, .job, .retry: .jobs
    case .events: .events
    case .gallery, .photo: .gallery
    case .health: .health
    case .ready: .ready
    case .metrics: .metrics
    }
  }

  /// Whether it is part of the gallery, which only some gateways serve.
  var belongsToGallery: Bool {
    switch self {
    case .picture, .random, .photo, .list, .jobs, .job, .retry, .events, .gallery: true
    case .image, .optionsPath, .health, .ready, .metrics: false
    }
  }

  /// Whether it is a picture by its URL.
  var hasPictures: Bool {
    switch self {
    case .image, .optionsPath: true
    default: false
    }
  }

  /// Whether it is a picture, by its URL, by its id or by a seed.
  var leadsToPicture: Bool {
    switch self {
    case .image, .optionsPath, .picture, .random: true
    default: false
    }
  }

  /// - Parameter target: as sent. With the URL of a picture, `/` is weserv's own path.
  /// - Returns: `nil` for a path that nothing has.
  init?(target: String) {
    let path = target.prefix { $0 != "?" }
    if let random = RandomPath(target) {
      self = .random(random)
      return
    }
    self.init(path: path)
    guard case .gallery = self, path == "/" else { return }
    let parameters = target[path.endIndex...].dropFirst().split(separator: "&")
    if parameters.contains(where: { $0.prefix { $0 != "=" } == "url" }) { self = .image }
  }

  /// - Parameter path: that of the target, without the query.
  /// - Returns: `nil` for a path that nothing has.
  private init?(path: Substring) {
    // Most requests have this path, so it is compared first.
    if path == "/image" {
      self = .image
      return
    }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    switch (parts.first, parts.count) {
    case ("", 1), ("assets", 3): self = .gallery
    case ("health", 1): self = .health
    case ("ready", 1): self = .ready
    case ("metrics", 1): self = .metrics
    case ("v2", 2) where parts.last == "list": self = .list
    case ("v2", 3) where parts.dropFirst().elementsEqual(["list", ""]): self = .list
    case ("id", 2...): self = .picture
    case ("api", 2...):
      guard let route = Route(jobPath: parts.dropFirst()) else { return nil }
      self = route
    case ("photo", 2):
      guard let id = PictureID(String(parts[parts.endIndex - 1])) else { return nil }
      self = .photo(id)
    // Other paths of the gallery's and of Picsum's forms are not taken for imgproxy's.
    case ("v2", _), ("assets", _), ("seed", _), ("photo", _): return nil
    case ("g", 2...3) where parts.dropFirst().allSatisfy({ $0.utf8.allSatisfy(\.isDigit) }):
      return nil
    case (.some, 2) where parts.last?.isEmpty == false, (.some, 3...): self = .optionsPath
    default: return nil
    }
  }

  /// - Parameter parts: those after `/api/`.
  private init?(jobPath parts: ArraySlice<Substring>) {
    guard parts.first == "jobs" else { return nil }
    let rest = parts.dropFirst()
    guard let number = rest.first else {
      self = .jobs
      return
    }
    guard let id = ImageJob.ID(number), rest.count <= 2 else { return nil }
    switch rest.dropFirst().first {
    case nil: self = .job(id)
    case "retry": self = .retry(id)
    case "events": self = .events(id)
    default: return nil
    }
  }

  /// The methods of the route, as `Allow` lists them.
  var allowedMethods: String {
    if case .retry = self { "POST" } else { "GET, HEAD" }
  }

  func allows(_ method: HTTPMethod) -> Bool {
    switch method {
    case .get, .head: if case .retry = self { false } else { true }
    case .post: if case .retry = self { true } else { false }
    case .other: false
    }
  }
}
