import ImgClient
import ImgHTTP
import ImgModel

/// Answers requests for pictures: from memory, from the store, or by the cluster.
final class PictureService: Sendable {
  private let client: ImageClient
  private let prepared: PreparedImages
  private let known = KnownRequests()
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
    if let known = known.value(of: key) {
      return answer(to: request, for: known.query, wanted: known.wanted)
    }
    let query = try read()
    let wanted = wanted(by: query, accept: key.accept)
    if !query.dependsOnTime {
      known.insert(KnownRequests.Value(query: query, wanted: wanted), as: key)
    }
    return answer(to: request, for: query, wanted: wanted)
  }

  private func answer(
    to request: HTTPRequest, for query: ImageQuery, wanted: ImageRequest
  ) -> HTTPAnswer {
    if let response = hit(wanted, for: query, request) { return .response(response) }
    let host = Self.host(of: wanted.url)
    guard loads.begin(host) else {
      return .response(FailureReport(.tooManyLoads).response(.serviceUnavailable))
    }
    return .later { [self, wanted] in
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

  /// - Returns: `nil` if the cluster has to be asked.
  private func hit(
    _ wanted: ImageRequest, for query: ImageQuery, _ request: HTTPRequest
  ) -> HTTPResponse? {
    let now = WallTime.now
    do throws(ImageError) {
      return try prepared.image(for: wanted, at: now)?.response(to: request, for: query, at: now)
    } catch {
      return failure(error, for: query)
    }
  }

  private func load(
    _ wanted: ImageRequest, for query: ImageQuery, _ request: HTTPRequest
  ) async -> HTTPResponse {
    do throws(ImageError) {
      let image = PreparedImage(try await client.image(for: wanted))
      return image.response(to: request, for: query, at: .now)
    } catch {
      guard case .picture(let url) = query.fallback else { return failure(error, for: query) }
      return await loadFallback(url, insteadOf: wanted, after: error)
    }
  }

  /// Another picture in place of one that failed. Nothing keeps it under the URL of the other one.
  private func loadFallback(
    _ url: String, insteadOf wanted: ImageRequest, after error: ImageError
  ) async -> HTTPResponse {
    var other = wanted
    other.url = url
    do throws(ImageError) {
      let image = try await client.image(for: other)
      return .replacement(.bytes(image.bytes), image.type.mediaType, after: error)
    } catch let fallbackError {
      return FailureReport(fallbackError).response(HTTPStatus(fallbackError))
    }
  }

  private func failure(_ error: ImageError, for query: ImageQuery) -> HTTPResponse {
    guard case .placeholder(let placeholder) = query.fallback else {
      return FailureReport(error).response(HTTPStatus(error))
    }
    let size = query.request.variant.placeholderSize
    let drawing = placeholder.svg(width: size.width, height: size.height)
    var response = HTTPResponse.replacement(
      .bytes(drawing), ImageType.svg.mediaType, after: error)
    response.fields.add("Content-Security-Policy", "default-src 'none'; sandbox")
    return response
  }
}

extension ImageVariant {
  /// The box. A side that is longer than those of screens is one that the request leaves free: it is as long
  /// as the other one.
  fileprivate var placeholderSize: (width: Int, height: Int) {
    let longest = 4_096
    let shorter = min(width, height)
    guard shorter <= longest else { return (256, 256) }
    return (width <= longest ? width : shorter, height <= longest ? height : shorter)
  }
}

extension HTTPResponse {
  /// What is shown in place of a picture that failed.
  fileprivate static func replacement(
    _ body: HTTPResponse.Body, _ mediaType: String, after error: ImageError
  ) -> HTTPResponse {
    HTTPResponse(
      .ok,
      fields: [
        "Content-Type": mediaType, "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff", "X-Imgctl-Failure": error.code.rawValue,
      ],
      body: body)
  }
}

extension RequestRejection {
  fileprivate static let tooManyLoads = RequestRejection(
    .serviceUnavailable, code: "too_many_requests",
    "too many pictures are loading; ask again, or raise --requests")
}
