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
    lists = ListService(
      lists: PictureLists(transport), pictures: pictures, sides: queries.sides,
      origins: queries.origins, cluster: cluster)
    jobs = JobService(client: client, timeout: settings.requestTimeout)
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
    let answer = answer(to: request, at: route)
    if route?.belongsToGallery == true { return answer.forOwnPages }
    return route == .image && servesOtherSites ? answer.forAllPages : answer
  }

  /// The answer, or the refusal in its place.
  private func answer(to request: HTTPRequest, at route: Route?) -> HTTPAnswer {
    do throws(RequestRejection) {
      try hosts.check(request)
      guard let route, servesGallery || !route.belongsToGallery else {
        throw Route.isRandomPicture(request.target) ? .noRandomPicture : .nothingThere
      }
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
    case .list: return try lists.list(RequestTarget(request.target))
    case .picture: return try lists.picture(request, RequestTarget(request.target))
    case .jobs: return jobs.list()
    case .job(let id): return jobs.job(id)
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

  fileprivate static let noRandomPicture = notFound(
    "there is no random picture; /v2/list names those that there are, such as /id/1-0/300/200")

  fileprivate static func wrongMethod(_ route: Route) -> RequestRejection {
    RequestRejection(
      .methodNotAllowed, code: "method_not_allowed", "use \(route.allowedMethods)")
  }
}
