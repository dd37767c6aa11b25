import ImgClient
import ImgHTTP
import ImgModel

/// Answers requests for pictures: from memory, from the store, or by the cluster.
final class PictureService: Sendable {
  private let prepared: PreparedImages
  private let known = KnownRequests()
  private let substitutes: Substitutes
  private let loader: PictureLoader
  /// What the answers had.
  let counts = PictureCounts()
  /// Of a request.
  let timeout: Duration

  /// - Parameters:
  ///   - client: without a memory of its own.
  ///   - timeout: of a load.
  init(_ client: ImageClient, maximumLoads: Int, timeout: Duration) {
    self.timeout = timeout
    prepared = PreparedImages(client)
    loader = PictureLoader(client: client, limit: LoadLimit(maximumLoads))
    substitutes = Substitutes(client: client, loader: loader)
  }

  /// The loads by the cluster.
  var loads: LoadLimit { loader.limit }

  /// A hit at once, everything else later.
  ///
  /// - Parameter read: reads the request. It is not called for a target that was read before, unless the
  ///   answer depends on the time.
  func answer(
    to request: HTTPRequest, read: () throws(RequestRejection) -> ImageQuery
  ) throws(RequestRejection) -> HTTPAnswer {
    let key = KnownRequests.Key(target: request.target, accept: request.fields["Accept"])
    if let value = known.value(of: key) {
      if value.answer.isValid(at: .now), Conditions(request.fields).isEmpty {
        counts.count(.store)
        return .repeated(value.answer.response)
      }
      return answer(to: request, for: value.query, wanted: value.wanted, key: key)
    }
    let query = try read()
    return answer(
      to: request, for: query, wanted: wanted(by: query, accept: key.accept),
      key: query.expiresAt == nil ? key : nil)
  }

  /// - Parameter key: of a request whose answer may be kept.
  private func answer(
    to request: HTTPRequest, for query: ImageQuery, wanted: ImageRequest,
    key: KnownRequests.Key? = nil
  ) -> HTTPAnswer {
    let now = WallTime.now
    do throws(ImageError) {
      switch try prepared.find(wanted, at: now) {
      case .hit(let entry): return hit(entry, for: query, wanted, request, at: now, key: key)
      case .large: return .later { [self] in await largeHit(wanted, for: query, request) }
      case .noRoom: return .response(FailureReport(.noRoom).response())
      case .nothing: break
      }
    } catch {
      return .response(
        counted(substitutes.atHand(for: query, wanted, insteadOf: FailureReport(error))))
    }
    return .later(.connection) { [self] in await load(wanted, for: query, request) }
  }

  /// The answer with a thumbnail that is at hand.
  func response(
    to request: HTTPRequest, for query: ImageQuery, with image: LoadedImage
  ) async -> HTTPResponse {
    guard let prepared = await prepared.prepare(image) else {
      return FailureReport(.noRoom).response()
    }
    return response(to: request, for: query, with: prepared)
  }

  private func response(
    to request: HTTPRequest, for query: ImageQuery, with image: PreparedImage
  ) -> HTTPResponse {
    counts.count(image.origin)
    return image.response(to: request, for: query, at: .now)
  }

  /// The answer for a caller that waits.
  func response(to request: HTTPRequest, for query: ImageQuery) async -> HTTPResponse {
    let wanted = wanted(by: query, accept: request.fields["Accept"])
    switch answer(to: request, for: query, wanted: wanted) {
    case .response(let response): return response
    case .repeated(let repeated): return repeated.response
    case .later(_, let body): return await body()
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

  private func hit(
    _ entry: PreparedImages.Entry, for query: ImageQuery, _ wanted: ImageRequest,
    _ request: HTTPRequest, at now: WallTime, key: KnownRequests.Key?
  ) -> HTTPAnswer {
    counts.count(entry.image.origin)
    let response = entry.image.response(to: request, for: query, at: now)
    guard let key, entry.image.body.count <= KnownRequests.maximumBodyByteCount,
      Conditions(request.fields).isEmpty
    else { return .response(response) }
    let answer = TimedAnswer(response, of: entry.image, from: now, until: entry.end)
    known.insert(KnownRequests.Value(query: query, wanted: wanted, answer: answer), as: key)
    return .repeated(answer.response)
  }

  /// A hit that takes long to copy.
  private func largeHit(
    _ wanted: ImageRequest, for query: ImageQuery, _ request: HTTPRequest
  ) async -> HTTPResponse {
    do throws(ImageError) {
      switch try await prepared.findLarge(wanted) {
      case .hit(let entry): return response(to: request, for: query, with: entry.image)
      case .noRoom: return FailureReport(.noRoom).response()
      // It was removed meanwhile.
      case .large, .nothing: return await load(wanted, for: query, request)
      }
    } catch {
      return counted(substitutes.atHand(for: query, wanted, insteadOf: FailureReport(error)))
    }
  }

  /// The cluster has to be asked.
  private func load(
    _ wanted: ImageRequest, for query: ImageQuery, _ request: HTTPRequest
  ) async -> HTTPResponse {
    let deadline = ContinuousClock.now + (wanted.timeout ?? timeout)
    do throws(ImageError) {
      guard let image = try await loader.image(for: wanted, isNew: true) else {
        return await replacement {
          substitutes.atHand(for: query, wanted, insteadOf: FailureReport(.tooManyLoads))
        }
      }
      return await response(to: request, for: query, with: image)
    } catch {
      return await replacement {
        await substitutes.loaded(
          for: query, wanted, insteadOf: FailureReport(error), until: deadline)
      }
    }
  }

  /// A replacement of any size is copied, so this leaves the thread of the connection.
  private func replacement(_ body: () async -> HTTPResponse) async -> HTTPResponse {
    counted(await withTaskExecutorPreference(globalConcurrentExecutor, operation: body))
  }

  /// Counts a replacement, which has status 200.
  private func counted(_ response: HTTPResponse) -> HTTPResponse {
    if response.status == .ok { counts.countReplacement() }
    return response
  }
}

extension RequestRejection {
  fileprivate static let noRoom = RequestRejection(
    .serviceUnavailable, code: "too_many_requests",
    "too many large pictures are being sent; ask again later")

  static let tooManyLoads = RequestRejection(
    .serviceUnavailable, code: "too_many_requests",
    "too many pictures are loading; ask again later")
}
