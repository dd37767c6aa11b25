import ImgClient
import ImgHTTP
import ImgModel

/// Answers requests for pictures: from memory, from the store, or by the cluster.
final class PictureService: Sendable {
  private let client: ImageClient
  private let prepared: PreparedImages
  private let known = KnownRequests()
  private let substitutes: Substitutes
  private let timeout: Duration
  /// The loads by the cluster.
  let loads: LoadLimit

  /// - Parameters:
  ///   - client: without a memory of its own.
  ///   - timeout: of a load.
  init(_ client: ImageClient, maximumLoads: Int, timeout: Duration) {
    self.client = client
    self.timeout = timeout
    prepared = PreparedImages(client)
    substitutes = Substitutes(client: client)
    loads = LoadLimit(maximumLoads)
  }

  /// A hit at once, everything else later.
  ///
  /// - Parameter read: reads the request. It is not called for a target that was read before, unless the
  ///   answer depends on the time.
  func answer(
    to request: HTTPRequest, read: () throws(RequestRejection) -> ImageQuery
  ) throws(RequestRejection) -> HTTPAnswer {
    let key = KnownRequests.Key(target: request.target, accept: request.fields["Accept"])
    if let value = known.value(of: key) {
      if let answer = value.answer, answer.isValid(at: .now), Conditions(request.fields).isEmpty {
        return .response(answer.response)
      }
      return answer(to: request, for: value.query, wanted: value.wanted, key: key)
    }
    let query = try read()
    let wanted = wanted(by: query, accept: key.accept)
    if !query.dependsOnTime {
      known.insert(KnownRequests.Value(query: query, wanted: wanted), as: key)
    }
    return answer(to: request, for: query, wanted: wanted, key: key)
  }

  /// - Parameter key: of a request whose answer may be kept.
  private func answer(
    to request: HTTPRequest, for query: ImageQuery, wanted: ImageRequest,
    key: KnownRequests.Key? = nil
  ) -> HTTPAnswer {
    let now = WallTime.now
    do throws(ImageError) {
      if let entry = try prepared.entry(for: wanted, at: now) {
        return .response(hit(entry, for: query, request, at: now, key: key))
      }
    } catch {
      return .response(
        substitutes.atHand(for: query, wanted, insteadOf: FailureReport(error)))
    }
    return loading(wanted, for: query, request)
  }

  /// The cluster has to be asked.
  private func loading(
    _ wanted: ImageRequest, for query: ImageQuery, _ request: HTTPRequest
  ) -> HTTPAnswer {
    let host = Self.host(of: wanted.url)
    guard loads.begin(host) else {
      return .response(
        substitutes.atHand(for: query, wanted, insteadOf: FailureReport(.tooManyLoads)))
    }
    return .later { [self] in
      defer { loads.end(host) }
      return await load(wanted, for: query, request)
    }
  }

  /// The answer for a caller that waits.
  func response(to request: HTTPRequest, for query: ImageQuery) async -> HTTPResponse {
    let wanted = wanted(by: query, accept: request.fields["Accept"])
    switch answer(to: request, for: query, wanted: wanted) {
    case .response(let response): return response
    case .later(let body): return await body()
    }
  }

  private func wanted(by query: ImageQuery, accept: String?) -> ImageRequest {
    var wanted = query.request
    if let format = AcceptedFormats(accept).format(for: query) {
      wanted.variant.format = format
    }
    wanted.timeout = wanted.timeout ?? timeout
    wanted.maximumRetryAfter = Self.maximumRetryAfter
    return wanted
  }

  /// A client that waits longer for an origin's pause holds up others. It is told when to come back instead.
  static let maximumRetryAfter = Duration.seconds(2)

  /// - Returns: the empty text for what is no URL, which needs no host to fail.
  private static func host(of url: String) -> String {
    (try? ImageURL(line: url))?.host ?? ""
  }

  private func hit(
    _ entry: PreparedImages.Entry, for query: ImageQuery, _ request: HTTPRequest, at now: WallTime,
    key: KnownRequests.Key?
  ) -> HTTPResponse {
    let response = entry.image.response(to: request, for: query, at: now)
    if let key, Conditions(request.fields).isEmpty {
      known.keep(TimedAnswer(response, of: entry.image, from: now, until: entry.end), to: key)
    }
    return response
  }

  private func load(
    _ wanted: ImageRequest, for query: ImageQuery, _ request: HTTPRequest
  ) async -> HTTPResponse {
    let deadline = ContinuousClock.now + (wanted.timeout ?? timeout)
    do throws(ImageError) {
      let image = PreparedImage(try await client.image(for: wanted))
      return image.response(to: request, for: query, at: .now)
    } catch {
      return await substitutes.loaded(
        for: query, wanted, insteadOf: FailureReport(error), until: deadline)
    }
  }
}

extension RequestRejection {
  fileprivate static let tooManyLoads = RequestRejection(
    .serviceUnavailable, code: "too_many_requests",
    "too many pictures are loading; ask again, or raise --requests")
}
